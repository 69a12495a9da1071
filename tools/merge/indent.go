package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// shift is the indentation of a line in the old text and in the file.
type shift struct{ old, found string }

// indentation converts the indentation of new lines to that of the file.
type indentation struct {
	pairs   []shift  // of all lines that are not blank, in order
	first   bool     // pairs[0] is that of the first line
	written []string // the indentation of all lines of the old and the new text
	unit    int      // spaces of a level in the file, 0 if unknown
}

var errIndentation = errors.New("its indentation can't be derived")

// of returns the indentation in the file for one of the new text. It is an error
// if the lines that were found don't determine it. Models often omit the
// indentation of the first line alone, so that line may be an exception.
func (d indentation) of(w string) (string, error) {
	if len(d.pairs) == 0 {
		return w, nil
	}
	r, ok, certain := d.extend(d.pairs, w)
	if !certain && d.first && len(d.pairs) > 1 && d.pairs[0].old == "" && d.pairs[0].found != "" {
		switch other, isOther, _ := d.extend(d.pairs[1:], w); {
		case isOther && !ok:
			r, ok = other, true
		case isOther && other != r:
			ok = false
		}
	}
	if ok {
		return r, nil
	}
	i := max(0, slices.IndexFunc(d.pairs, func(p shift) bool { return p.old != p.found }))
	return "", fmt.Errorf("%w: it is indented with %q, and the file has %q where the old text has %q; copy the indentation exactly from the file",
		errIndentation, w, d.pairs[i].found, d.pairs[i].old)
}

// extend applies what a set of lines has in common to the indentation w. The result
// is certain if all lines are moved alike, or have levels of two to four spaces where
// the other text has tabs.
func (d indentation) extend(set []shift, w string) (r string, ok, certain bool) {
	var known []string
	for _, p := range set {
		if p.old == w && !slices.Contains(known, p.found) {
			known = append(known, p.found)
		}
	}
	prefixed, moved := byPrefix(set, w)
	switch {
	case len(known) > 0:
		return known[0], len(known) == 1, moved
	case moved:
		return prefixed, true, true
	}
	return d.byUnit(set, w)
}

// byPrefix adds or removes the whitespace by which all lines differ.
func byPrefix(set []shift, w string) (string, bool) {
	added, plus := strings.CutSuffix(set[0].found, set[0].old)
	removed, minus := strings.CutSuffix(set[0].old, set[0].found)
	for _, p := range set {
		plus = plus && p.found == added+p.old
		minus = minus && p.old == removed+p.found
	}
	switch {
	case plus && kindOf(added+w) != mixed:
		return added + w, true
	case plus && added == "":
		return w, true
	case minus && strings.HasPrefix(w, removed):
		return w[len(removed):], true
	}
	return "", false
}

// byUnit converts the number of tabs or spaces, which must be in a linear
// relation.
func (d indentation) byUnit(set []shift, w string) (r string, ok, certain bool) {
	from, to := "", ""
	for _, p := range set {
		from, to = from+p.old, to+p.found
	}
	fromKind, toKind := kindOf(from), kindOf(to)
	switch kind := kindOf(w); {
	case fromKind == mixed || toKind == mixed || toKind == none || kind == mixed:
		return "", false, false
	case kind == toKind && fromKind != none && fromKind != kind:
		return w, true, false // the new text has the file's style already
	case fromKind == none:
		fromKind = kind
	case kind != none && kind != fromKind:
		return "", false, false
	}
	step, of := slope(set)
	certain = fromKind != toKind && min(step, of) == 1 && max(step, of) <= 4
	if of == 0 {
		step, of = d.ratio(set[0], fromKind, toKind)
	}
	if step <= 0 || of <= 0 || !linear(set, step, of) {
		return "", false, false
	}
	base := set[0]
	moved := (len(w) - len(base.old)) * step
	if moved%of != 0 || len(base.found)+moved/of < 0 {
		return "", false, false
	}
	return strings.Repeat(string(toKind), len(base.found)+moved/of), true, certain
}

// slope returns how many characters more the file has for how many of the old
// text, from two lines with different indentation, or 0, 0.
func slope(set []shift) (step, of int) {
	o, f := len(set[0].old), len(set[0].found)
	for _, p := range set {
		if of = len(p.old) - o; of != 0 {
			step = len(p.found) - f
			if of < 0 {
				step, of = -step, -of
			}
			break
		}
	}
	for n := 2; n <= step && n <= of; n++ {
		for step%n == 0 && of%n == 0 {
			step, of = step/n, of/n
		}
	}
	return step, of
}

func linear(set []shift, step, of int) bool {
	return !slices.ContainsFunc(set, func(p shift) bool {
		return (len(p.found)-len(set[0].found))*of != (len(p.old)-len(set[0].old))*step
	})
}

// ratio is slope for lines that all have the same indentation.
func (d indentation) ratio(p shift, from, to kind) (step, of int) {
	o, f := len(p.old), len(p.found)
	switch level := d.level(); {
	case from == to:
		return 1, 1
	case from == tabs && d.unit > 0:
		return d.unit, 1
	case from == tabs && o > 0 && f%o == 0:
		return f / o, 1
	case from == tabs:
		return 0, 0
	case level == 0 || o > 0 && (o == 2*f || o == 3*f || o == 4*f) && o != level*f:
		return 0, 0 // none of several units is certain
	default:
		return 1, level
	}
}

// level returns the spaces of a level of the old and the new text: the greatest
// that divides the indentation of all lines, 0 if nobody would indent by that.
func (d indentation) level() int {
	n := 0
	for _, w := range d.written {
		a := len(w)
		for a > 0 {
			n, a = a, n%a
		}
	}
	switch n {
	case 2, 3, 4, 8:
		return n
	}
	return 0
}

// kind is the character that indentation consists of.
type kind rune

const (
	none   kind = 0
	tabs   kind = '\t'
	spaces kind = ' '
	mixed  kind = -1
)

func kindOf(indent string) kind {
	k := none
	for _, r := range indent {
		switch {
		case k == none && (r == '\t' || r == ' '):
			k = kind(r)
		case kind(r) != k:
			return mixed
		}
	}
	return k
}

// margin returns the whitespace at the start of a line.
func margin(line string) string {
	return line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
}

// Unit returns the spaces by which lines of a text are most often indented more
// than the line above, or 0.
func Unit(text string) int {
	counts := map[int]int{}
	above, best := 0, 0
	for line := range strings.Lines(text) {
		if blank(line) {
			continue
		}
		indent := margin(line)
		if kindOf(indent) != spaces && indent != "" {
			continue
		}
		if n := len(indent) - above; n > 1 {
			if counts[n]++; counts[n] > counts[best] || counts[n] == counts[best] && n < best {
				best = n
			}
		}
		above = len(indent)
	}
	return best
}
