package edit

import "github.com/agnivade/levenshtein"

// maxCells is the maximum table size of one distance. Longer lines are compared
// only at their starts and ends.
const maxCells = 1 << 20

// alike returns the similarity of two lines that are not both empty: 1 minus
// their distance over the length of the longer, in characters.
func (m *meter) alike(a, b string) float64 {
	m.left -= (len(a) + len(b)) / 4
	if m.left < 0 {
		return 0
	}
	x, y := []rune(a), []rune(b)
	longer := max(len(x), len(y))
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	cells := len(x) * len(y)
	if cells > maxCells {
		return 1 - float64(max(len(x), len(y)))/float64(longer)
	}
	if m.left -= 2 * cells; m.left < 0 {
		return 0
	}
	return 1 - float64(levenshtein.ComputeDistance(string(x), string(y)))/float64(longer)
}
