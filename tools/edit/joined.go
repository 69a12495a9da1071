package edit

import "strings"

// maxWork is the maximum work of a slow matcher, in comparisons of two
// characters or numbers: about a second. A matcher that reaches it finds
// nothing, because it can't know whether a match is unique.
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
