package ignore

import "strings"

// set is a set of bytes.
type set [4]uint64

func (s *set) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *set) add(b byte) { s[b>>6] |= 1 << (b & 63) }

func (s *set) addRange(from, to byte) {
	for b := int(from); b <= int(to); b++ {
		s.add(byte(b))
	}
}

func (s *set) addIf(in func(byte) bool) {
	for b := range 256 {
		if in(byte(b)) {
			s.add(byte(b))
		}
	}
}

// parseClass reads the class at the start of p, which begins with "[", and
// returns its length. It returns false if the class has no end, or names a
// class that does not exist.
func parseClass(p string) (*set, int, bool) {
	s := new(set)
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var from byte // the byte before, from which a "-" may start a range; 0 for none
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0, false
		}
		if p[i] == ']' && !first {
			break
		}
		n, last, ok := s.addItem(p[i:], from)
		if !ok {
			return nil, 0, false
		}
		i, from = i+n, last
	}
	if negated {
		for k := range s {
			s[k] = ^s[k]
		}
	}
	return s, i + 1, true
}

// addItem adds one member at the start of p: a byte, an escaped byte, the rest
// of a range that began with from, or a named class. It returns the member's
// length and the byte that a range may start from.
func (s *set) addItem(p string, from byte) (n int, last byte, ok bool) {
	switch {
	case p[0] == '\\':
		if len(p) < 2 {
			return 0, 0, false
		}
		s.add(p[1])
		return 2, p[1], true
	case p[0] == '-' && from != 0 && len(p) > 1 && p[1] != ']':
		n = 1
		if p[n] == '\\' {
			n++
		}
		if n == len(p) {
			return 0, 0, false
		}
		s.addRange(from, p[n])
		return n + 1, 0, true
	case strings.HasPrefix(p, "[:"):
		return s.addNamed(p)
	}
	s.add(p[0])
	return 1, p[0], true
}

// addNamed adds a POSIX class such as "[:alpha:]". What only begins like one
// is a plain "[" and what follows it.
func (s *set) addNamed(p string) (n int, last byte, ok bool) {
	end := strings.IndexByte(p[2:], ']')
	if end < 0 {
		return 0, 0, false
	}
	name, closed := strings.CutSuffix(p[2:2+end], ":")
	if !closed {
		s.add('[')
		return 1, '[', true
	}
	in := named(name)
	if in == nil {
		return 0, 0, false
	}
	s.addIf(in)
	return 2 + end + 1, 0, true
}

// named returns the members of a POSIX class, nil if not found. All classes are
// within ASCII, and the vertical tab and the form feed are not white space, as
// in git.
func named(class string) func(byte) bool {
	switch class {
	case "alnum":
		return func(b byte) bool { return alpha(b) || digit(b) }
	case "alpha":
		return alpha
	case "blank":
		return func(b byte) bool { return b == ' ' || b == '\t' }
	case "cntrl":
		return func(b byte) bool { return b < ' ' || b == 0x7f }
	case "digit":
		return digit
	case "graph":
		return graph
	case "lower":
		return lower
	case "print":
		return func(b byte) bool { return b == ' ' || graph(b) }
	case "punct":
		return func(b byte) bool { return graph(b) && !alpha(b) && !digit(b) }
	case "space":
		return func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
	case "upper":
		return upper
	case "xdigit":
		return func(b byte) bool { return digit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }
	}
	return nil
}

func lower(b byte) bool { return 'a' <= b && b <= 'z' }
func upper(b byte) bool { return 'A' <= b && b <= 'Z' }
func alpha(b byte) bool { return lower(b) || upper(b) }
func digit(b byte) bool { return '0' <= b && b <= '9' }
func graph(b byte) bool { return '!' <= b && b <= '~' }
