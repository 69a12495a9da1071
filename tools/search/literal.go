package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeeds is the maximum number of literals to search for one by one.
const maxNeeds = 32

// literal is a text that a matching line must contain.
type literal struct {
	text []byte
	fold bool // text is lower-case ASCII, and the case is ignored
}

// needs are literals of which every match of an expression contains at least
// one. If empty, nothing is known.
type needs struct {
	any    []literal
	enough bool // a text that contains one of them matches
}

func (n needs) folded() bool {
	return slices.ContainsFunc(n.any, func(l literal) bool { return l.fold })
}

// shortest returns the length of the shortest literal: the longer it is, the
// fewer lines contain it by chance.
func (n needs) shortest() int {
	if len(n.any) == 0 {
		return 0
	}
	return len(slices.MinFunc(n.any, func(a, b literal) int { return len(a.text) - len(b.text) }).text)
}

// oddLetters are the non-ASCII letters that are case variants of an ASCII
// letter: the Kelvin sign, of k, and the long s. They are
// very rare.
var oddLetters = [][]byte{[]byte("\u212a"), []byte("\u017f")}

// hasOddLetters reports whether a text contains one of the oddLetters.
func hasOddLetters(text []byte) bool {
	return slices.ContainsFunc(oddLetters, func(l []byte) bool { return bytes.Contains(text, l) })
}

// needed returns the literals that every match of an expression contains, like ripgrep
// and RE2: in any text, or with plain only in texts without oddLetters.
func needed(re *syntax.Regexp, plain bool) needs {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return foldedLiteral(re.Rune, plain)
		}
		return plainLiteral(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0], plain)
	case syntax.OpRepeat:
		if re.Min == 0 {
			return needs{}
		}
		n := needed(re.Sub[0], plain)
		n.enough = n.enough && re.Min == 1
		return n
	case syntax.OpConcat:
		return requiredByOne(re.Sub, plain)
	case syntax.OpAlternate:
		return requiredByAll(re.Sub, plain)
	default:
		return needs{}
	}
}

// plainLiteral returns a case-sensitive literal. A match of U+FFFD can
// also be a byte of invalid UTF-8, and a carriage return may belong to the
// line ending.
func plainLiteral(rs []rune) needs {
	if slices.Contains(rs, utf8.RuneError) {
		return needs{}
	}
	return needs{any: []literal{{text: []byte(string(rs))}}, enough: !slices.Contains(rs, '\r')}
}

// foldedLiteral returns the longest substring of a literal whose letters have only
// ASCII case variants. Therefore it has no "k" and "s" unless plain.
func foldedLiteral(rs []rune, plain bool) needs {
	var best, expr []byte
	for _, r := range rs {
		if !foldsInASCII(r, plain) {
			expr = nil
			continue
		}
		expr = append(expr, byte(unicode.ToLower(r)))
		if len(expr) > len(best) {
			best = expr
		}
	}
	if len(best) == 0 {
		return needs{}
	}
	return needs{any: []literal{{text: best, fold: true}}, enough: len(best) == len(rs) && !strings.ContainsRune(string(rs), '\r')}
}

// foldsInASCII reports whether a rune and all its case variants are ASCII; with
// plain, oddLetters are ignored.
func foldsInASCII(r rune, plain bool) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf && !plain {
			return false
		}
	}
	return r < utf8.RuneSelf
}

// requiredByOne returns the most selective needs of subexpressions that must all match.
func requiredByOne(parts []*syntax.Regexp, plain bool) needs {
	var best needs
	for _, p := range parts {
		n := needed(p, plain)
		if n.shortest() > best.shortest() || n.shortest() == best.shortest() && len(n.any) < len(best.any) {
			best = n
		}
	}
	best.enough = false
	return best
}

// requiredByAll returns the needs of subexpressions of which one must match.
func requiredByAll(parts []*syntax.Regexp, plain bool) needs {
	all := needs{enough: true}
	for _, p := range parts {
		n := needed(p, plain)
		if len(n.any) == 0 {
			return needs{}
		}
		all.any = append(all.any, n.any...)
		all.enough = all.enough && n.enough
	}
	if len(all.any) > maxNeeds {
		return needs{}
	}
	return all
}
