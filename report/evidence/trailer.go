package evidence

import "strings"

// trailers are those of a commit's message that name a run.
type trailers struct{ run, job, hash string }

// trailersOf returns the trailers of a message: those of its last paragraph.
func trailersOf(message string) (t trailers) {
	message = strings.TrimRight(message, "\n")
	if at := strings.LastIndex(message, "\n\n"); at >= 0 {
		message = message[at+2:]
	}
	for line := range strings.Lines(message) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Millhand-Run":
			t.run = value
		case "Millhand-Job":
			t.job = value
		case "Millhand-Evidence":
			t.hash, _ = strings.CutPrefix(value, "sha256:")
		}
	}
	return t
}

// evidence returns the hash of the trailers of a commit that a run has made; "" for others.
func (t trailers) evidence(run string) string {
	if t.run != run {
		return ""
	}
	return t.hash
}
