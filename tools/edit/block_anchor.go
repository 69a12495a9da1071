package edit

import "strings"

// minSimilarity is the minimum average similarity of the lines between the
// anchors; as in OpenCode.
const minSimilarity = 0.65

// rounding is the maximum difference of similarities that count as equal.
const rounding = 1e-9

// blockAnchor finds the block whose first and last lines are those of old
// except for whitespace around them, and whose lines between are most like
// those of old, at least by minSimilarity. old has three lines or
// more; the block may have a quarter of that more or less, or one. Where
// several are most like it, all are found.
func blockAnchor(text, old string) []span {
	t, o := newLines(text), newLines(old)
	n := o.count()
	if n < 3 || blank(o.at(0)) || blank(o.at(n-1)) {
		return nil
	}
	ids := number(t, o)
	slack := max(1, n/4)
	m := &meter{left: maxWork}
	best := minSimilarity
	var spans []span
	for i, id := range ids.text {
		if m.left--; id != ids.id[0] {
			continue
		}
		height, like := 0, 0.0
		for h := max(3, n-slack); h <= n+slack && i+h <= len(ids.text); h++ {
			if m.left--; ids.text[i+h-1] != ids.id[n-1] {
				continue
			}
			s := m.similarity(t, i, h, o, ids, best)
			if s > like || s == like && h == n {
				height, like = h, s
			}
		}
		if m.left < 0 {
			return nil
		}
		if height == 0 || like < best-rounding {
			continue
		}
		if like > best+rounding {
			spans = nil
		}
		best = max(best, like)
		spans = append(spans, t.span(i, height))
	}
	return spans
}

// meter computes the similarity of lines, up to a limit of work.
type meter struct{ left int }

// similarity returns the average similarity of the lines between the anchors,
// from 0 to 1, or 0 if it is less than least. Pairs of blank lines don't count.
func (m *meter) similarity(t lines, i, height int, o lines, ids numbers, least float64) float64 {
	n := min(height, o.count()) - 2
	sum, pairs := 0.0, n
	for j := 1; j <= n; j++ {
		if m.left--; m.left < 0 {
			return 0
		}
		switch a, b := ids.text[i+j], ids.id[j]; {
		case a == ids.blank && b == ids.blank:
			pairs--
		case a == b:
			sum++
		default:
			sum += m.alike(strings.TrimSpace(t.at(i+j)), strings.TrimSpace(o.at(j)))
		}
		if most := sum + float64(n-j); most < (least-rounding)*float64(pairs) {
			return 0
		}
	}
	if pairs == 0 {
		return 1
	}
	return sum / float64(pairs)
}
