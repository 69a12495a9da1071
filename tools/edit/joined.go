package edit

import "strings"

// maxWork bounds what a matcher that can be slow does, in comparisons of two
// characters or numbers: a second of them or so. One that reaches its limit
// finds nothing, for it could not know whether a place is the only one.
const maxWork = 1 << 25

// joined returns the lines i for which the parts i to i+n-1, one behind the
// other, are want.
func joined(parts []string, want string, n int) []int {
	var found []int
	left := maxWork
	for i := 0; i+n <= len(parts); i++ {
		rest, ok := want, true
		for _, p := range parts[i : i+n] {
			left -= 4 + len(p)/8
			if rest, ok = strings.CutPrefix(rest, p); !ok {
				break
			}
		}
		if left < 0 {
			return nil
		}
		if ok && rest == "" {
			found = append(found, i)
		}
	}
	return found
}
