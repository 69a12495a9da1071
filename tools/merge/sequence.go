package merge

import "slices"

// maxTable is the maximum number of cells of the table of a comparison; longer
// sequences are compared only at their starts and ends.
const maxTable = 1 << 22

// pair is a pair of indexes of equal elements.
type pair struct{ a, b int }

// common returns a longest common subsequence of two sequences.
func common[T comparable](x, y []T) []pair {
	var out []pair
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		out = append(out, pair{head, head})
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	for _, p := range middle(x[head:len(x)-tail], y[head:len(y)-tail]) {
		out = append(out, pair{head + p.a, head + p.b})
	}
	for ; tail > 0; tail-- {
		out = append(out, pair{len(x) - tail, len(y) - tail})
	}
	return out
}

// middle is common with a table of the lengths for all suffixes.
func middle[T comparable](x, y []T) []pair {
	w := len(y) + 1
	if len(x) == 0 || len(y) == 0 || (len(x)+1)*w > maxTable {
		return nil
	}
	table := make([]int32, (len(x)+1)*w)
	for i, of := range slices.Backward(x) {
		for j, with := range slices.Backward(y) {
			if of == with {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	var out []pair
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			out = append(out, pair{i, j})
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// aligned returns for each element of old the index of its element in found, or
// -1. Between equal elements, as many that differ are aligned by their positions.
func aligned(old, found []string) []int {
	in := make([]int, len(old))
	i, j := 0, 0
	for _, p := range append(common(old, found), pair{len(old), len(found)}) {
		for k := i; k < p.a; k++ {
			in[k] = -1
			if p.a-i == p.b-j {
				in[k] = j + k - i
			}
		}
		if p.a < len(old) {
			in[p.a] = p.b
		}
		i, j = p.a+1, p.b+1
	}
	return in
}

// change is the replacement of old[a:b] by new[c:d].
type change struct{ a, b, c, d int }

// changes returns what is between the common elements of two sequences.
func changes(old, new int, same []pair) []change {
	var out []change
	i, j := 0, 0
	for _, p := range append(same, pair{old, new}) {
		if i < p.a || j < p.b {
			out = append(out, change{i, p.a, j, p.b})
		}
		i, j = p.a+1, p.b+1
	}
	return out
}

// bounds returns the range of found elements that correspond to old[a:b], where
// in has the found element of each old one. The range is empty if a equals b:
// after the element before.
func bounds(in []int, found, a, b int) (start, stop int) {
	for k := a - 1; k >= 0 && start == 0; k-- {
		start = in[k] + 1
	}
	if a == b {
		if a == 0 && len(in) > 0 && in[0] > 0 {
			return in[0], in[0]
		}
		return start, start
	}
	stop = found
	if k := slices.IndexFunc(in[b:], func(f int) bool { return f >= 0 }); k >= 0 {
		stop = in[b+k]
	}
	if in[a] >= 0 {
		start = in[a]
	}
	if in[b-1] >= 0 {
		stop = in[b-1] + 1
	}
	return start, stop
}
