package edit

import "strings"

// multiOccurrence finds exact occurrences, including overlapping ones. As the
// last matcher, it counts the matches for the error.
func multiOccurrence(text, old string) []span {
	var spans []span
	left := maxWork
	for at := 0; left > 0; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		at += i
		spans = append(spans, span{at, at + len(old)})
		at++
		left -= len(old)/16 + 1
	}
	return spans
}
