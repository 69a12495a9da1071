package edit

import (
	"cmp"
	"slices"
	"strings"
)

// span is a byte range of a text.
type span struct{ start, end int }

// spansOf counts the places that a matcher found. A single one is also counted
// where its text stands elsewhere, or overlaps with itself: "}\n}" is twice in
// "}\n}\n}", and it would be a guess which one is meant.
func spansOf(text string, spans []span) int {
	if len(spans) == 0 {
		return 0
	}
	if len(spans) > 1 && !alike(text, spans) {
		return len(spans)
	}
	return max(len(spans), len(multiOccurrence(text, text[spans[0].start:spans[0].end])))
}

// alike reports whether all spans have the same text.
func alike(text string, spans []span) bool {
	first := text[spans[0].start:spans[0].end]
	return !slices.ContainsFunc(spans, func(s span) bool { return text[s.start:s.end] != first })
}

// apart returns the spans that don't overlap an earlier one.
func apart(spans []span) []span {
	var out []span
	for _, s := range spans {
		if len(out) == 0 || s.start >= out[len(out)-1].end {
			out = append(out, s)
		}
	}
	return out
}

// addDisjoint merges spans with the others that don't overlap any of them. Both
// lists and the result are ordered.
func addDisjoint(spans, others []span) []span {
	out := slices.Clone(spans)
	i := 0
	for _, o := range others {
		for i < len(spans) && spans[i].end <= o.start {
			i++
		}
		if i == len(spans) || o.end <= spans[i].start {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return out
}

// occurrences returns the non-overlapping occurrences of a non-empty piece in a
// text.
func occurrences(text, chunk string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(text[at:], chunk)
		if i < 0 {
			return spans
		}
		spans = append(spans, span{at + i, at + i + len(chunk)})
		at += i + len(chunk)
	}
}
