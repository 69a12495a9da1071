package action

import "bytes"

// MaxSummary is the maximum size of a step summary, in bytes: GitHub rejects longer ones.
const MaxSummary = 1 << 20

// Summary truncates a page to the remaining space of a step summary, after a line and
// with a notice.
func Summary(page []byte, room int) []byte {
	const notice = "\n\n**This summary was truncated here; report.json is complete.**\n"
	if len(page) <= room {
		return page
	}
	end := bytes.LastIndexByte(page[:max(0, room-len(notice))], '\n') + 1
	if end == 0 {
		return nil
	}
	return append(bytes.Clone(page[:end]), notice...)
}
