package action

import "bytes"

// MaxSummary is how long a step's summary may be, in bytes: GitHub refuses a
// longer one as a whole.
const MaxSummary = 1 << 20

// Summary fits a page into the room that is left in a step's summary: it is cut
// after a line, and says so.
func Summary(page []byte, room int) []byte {
	const notice = "\n\n**This summary was cut here; report.json has everything.**\n"
	if len(page) <= room {
		return page
	}
	end := bytes.LastIndexByte(page[:max(0, room-len(notice))], '\n') + 1
	if end == 0 {
		return nil
	}
	return append(bytes.Clone(page[:end]), notice...)
}
