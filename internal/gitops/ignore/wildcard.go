package ignore

import "strings"

// wild is a pattern with wildcards, parsed into steps.
type wild struct {
	steps    []step
	shortest int // length in bytes of the shortest text that can match
}

// step matches one byte, or any number of bytes.
type step struct {
	kind kind
	lit  byte // of a literal
	set  *set // of a class
}

type kind uint8

const (
	literal     kind = iota // this byte
	any1                    // ?: any byte but a slash
	class                   // [...]: a byte of the set, never a slash
	star                    // *: anything without a slash
	directories             // **/: nothing, or anything up to and with a slash
	deeper                  // **\/: anything up to and with a slash
	all                     // ** at the end: anything
)

// parseWild parses a pattern into steps. It returns false if the pattern is malformed;
// such a pattern matches nothing.
func parseWild(p string) ([]step, bool) {
	w := make([]step, 0, len(p))
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '*':
			stars := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			s, n := starStep(stars, i == 0 || p[i-1] == '/', p[i+stars:])
			w = append(w, s)
			i += stars + n - 1
		case '?':
			w = append(w, step{kind: any1})
		case '[':
			s, n, ok := parseClass(p[i:])
			if !ok {
				return nil, false
			}
			w = append(w, step{kind: class, set: s})
			i += n - 1
		case '\\':
			if i++; i == len(p) {
				return nil, false
			}
			w = append(w, step{lit: p[i]})
		default:
			w = append(w, step{lit: p[i]})
		}
	}
	return w, true
}

// starStep returns the step for consecutive stars, and the number of bytes after them
// that belong to it. Two or more are special only if they are a complete component of
// the path.
func starStep(stars int, atStart bool, after string) (step, int) {
	switch {
	case stars == 1 || !atStart:
		return step{kind: star}, 0
	case after == "":
		return step{kind: all}, 0
	case after[0] == '/':
		return step{kind: directories}, 1
	case strings.HasPrefix(after, `\/`):
		return step{kind: deeper}, 2
	}
	return step{kind: star}, 0
}

// cutLiteral returns the literal text at the start of the steps and the remaining steps.
func cutLiteral(steps []step) (string, []step) {
	var b strings.Builder
	for i, s := range steps {
		if s.kind != literal {
			return b.String(), steps[i:]
		}
		b.WriteByte(s.lit)
	}
	return b.String(), nil
}

// newWild computes the length of the shortest match. It avoids matching shorter texts,
// which bounds the cost by the text's length.
func newWild(steps []step) wild {
	w := wild{steps: steps}
	for _, s := range steps {
		if s.kind <= class || s.kind == deeper {
			w.shortest++
		}
	}
	return w
}

// match reports whether the pattern matches the complete text. It applies the steps in
// order. If one does not match, it extends the match of the last star by one byte or, if
// that byte is a slash, the match of the last "**" by one directory.
//
// Earlier stars need no backtracking: a star matches any text within a component of the
// path, and "**" any components, so the earliest match of the steps before it permits
// every later match of the steps after it. The cost is therefore bounded by the product
// of the two lengths.
func (w wild) match(text string) bool {
	if len(text) < w.shortest {
		return false
	}
	m := matching{wild: w, text: text, star: -1, fold: -1}
	for {
		if m.i < len(w.steps) && w.steps[m.i].kind == all {
			return true
		}
		if m.i == len(w.steps) && m.at == len(text) {
			return true
		}
		if !m.advance() && !m.retry() {
			return false
		}
	}
}

// matching is the state of a match: the next step, the offset in the text, and the steps
// for backtracking with the offset that was tried after them.
type matching struct {
	wild
	text           string
	i, at          int
	star, fold     int // -1 for none
	starAt, foldAt int
}

// advance applies one step, and returns false if it does not match.
func (m *matching) advance() bool {
	if m.i == len(m.steps) {
		return false
	}
	switch s := m.steps[m.i]; s.kind {
	case star:
		m.star, m.starAt = m.i, m.at
	case directories:
		m.star, m.fold, m.foldAt = -1, m.i, m.at
	case deeper:
		m.star, m.fold, m.foldAt = -1, m.i, m.at
		return false // it matches only after the next slash
	default:
		if m.at == len(m.text) || !s.matches(m.text[m.at]) {
			return false
		}
		if m.text[m.at] == '/' {
			m.star = -1
		}
		m.at++
	}
	m.i++
	return true
}

// retry backtracks to the last star that can match more text, and returns false if none
// can.
func (m *matching) retry() bool {
	if m.star >= 0 && m.extendStar() {
		m.i, m.at = m.star+1, m.starAt
		return true
	}
	if m.fold < 0 {
		return false
	}
	n := strings.IndexByte(m.text[m.foldAt:], '/')
	if n < 0 {
		return false
	}
	m.foldAt += n + 1
	m.star, m.i, m.at = -1, m.fold+1, m.foldAt
	return true
}

// extendStar extends the match of the star to the next byte at which the following step
// can continue, and returns false if no byte qualifies.
func (m *matching) extendStar() bool {
	next := step{kind: star} // at the end of the pattern the star can stop anywhere
	if m.star+1 < len(m.steps) {
		next = m.steps[m.star+1]
	}
	at, text := m.starAt, m.text
	for at < len(text) && text[at] != '/' {
		at++
		if next.kind != literal || at < len(text) && text[at] == next.lit {
			m.starAt = at
			return true
		}
	}
	return false
}

// matches reports whether a single-byte step matches b.
func (s step) matches(b byte) bool {
	switch s.kind {
	case literal:
		return b == s.lit
	case any1:
		return b != '/'
	default:
		return b != '/' && s.set.has(b)
	}
}
