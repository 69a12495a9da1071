package edit

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
	return 1 - float64(distance(x, y))/float64(longer)
}

// distance is Levenshtein's: the characters to insert, delete or replace. It is
// computed row by row (Wagner and Fischer, "The string-to-string correction
// problem", 1974).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal = row[j+1]
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
