package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ripgrep's expressions look like those of package regexp and mean something
// else: \d, \w, \s and \b know all of Unicode there, a dot matches no byte that
// is not UTF-8, and a carriage return belongs to the line. So ripgrep is never
// given what the caller wrote, but an expression made anew from its syntax
// tree, in which every class is a list of characters. It matches every line
// that the original matches, without its end of line or with it.

// errDialect is for what ripgrep can't be asked.
var errDialect = errors.New("the expression can't be put in ripgrep's terms")

// maxDialect is how long an expression for ripgrep may be, in bytes.
const maxDialect = 64 << 10

// dialect writes an expression for ripgrep.
type dialect struct {
	out   strings.Builder
	exact bool // it matches no other lines than the original
	bad   bool // it can't be written
	wide  int  // how many single characters have to be any, or any but some of ASCII
	loops int  // the loops that are being written
}

// forRipgrep returns the expression for ripgrep, and whether it matches only
// what the original does.
func forRipgrep(re *syntax.Regexp) (pattern string, exact bool, err error) {
	d := dialect{exact: true}
	d.write(re, place{true, true})
	if d.bad || d.out.Len() > maxDialect {
		return "", false, errDialect
	}
	return d.out.String(), d.exact, nil
}

// place tells what comes after a part of the expression.
type place struct {
	last  bool // nothing at all
	final bool // nothing that has to match a character: it can match a line's last
}

// write writes a part of the expression.
func (d *dialect) write(re *syntax.Regexp, at place) {
	if d.out.Len() > maxDialect {
		return
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		d.out.WriteString("(?:)")
	case syntax.OpLiteral:
		d.literal(re, at)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		d.class(ranges(re), at)
	case syntax.OpBeginLine, syntax.OpBeginText:
		d.out.WriteString("(?m:^)")
	case syntax.OpEndLine, syntax.OpEndText:
		d.bad = d.bad || !at.last // a part after it would stand behind the carriage return
		d.out.WriteString(`(?:\r?(?m:$))`)
	case syntax.OpWordBoundary:
		d.out.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		d.exact = false // it holds within a character too
		d.out.WriteString(`(?-u:\B)`)
	case syntax.OpCapture:
		d.out.WriteString("(?:")
		d.write(re.Sub[0], at)
		d.out.WriteString(")")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		d.repeat(re, at)
	case syntax.OpConcat:
		d.sequence(re.Sub, at)
	case syntax.OpAlternate:
		d.alternatives(re.Sub, at)
	default:
		d.bad = true
	}
}

func (d *dialect) sequence(subs []*syntax.Regexp, at place) {
	for i, sub := range subs {
		after := subs[i+1:]
		d.write(sub, place{at.last && len(after) == 0, at.final && !slices.ContainsFunc(after, consumes)})
	}
}

func (d *dialect) alternatives(subs []*syntax.Regexp, at place) {
	for i, sub := range subs {
		d.out.WriteString([]string{"(?:", "|"}[min(i, 1)])
		d.write(sub, at)
	}
	d.out.WriteString(")")
}

// repeat writes a loop. A loop over almost all characters is one over bytes:
// that is the same, as long as only one of them has to be there.
func (d *dialect) repeat(re *syntax.Regexp, at place) {
	sub := re.Sub[0]
	rs := ranges(sub)
	suffix := map[syntax.Op]string{syntax.OpStar: "*", syntax.OpPlus: "+", syntax.OpQuest: "?"}[re.Op]
	if suffix == "" {
		suffix = strings.Replace(fmt.Sprintf("{%d,%d}", re.Min, re.Max), "-1", "", 1)
	}
	if (suffix == "*" || suffix == "+") && allBeyondASCII(rs) {
		if suffix == "+" {
			d.need(rs, at)
		}
		d.bytes(rs)
		d.out.WriteString(suffix)
		return
	}
	exact := d.exact
	d.loops++
	d.out.WriteString("(?:")
	d.write(sub, place{false, at.final})
	d.out.WriteString(")" + suffix)
	d.loops--
	if (suffix == "*" || suffix == "?") && rs != nil && !has(rs, utf8.RuneError) {
		d.exact = exact // a match that takes in the carriage return is one without it too
	}
}

// consumes reports whether every match of a part of the expression has a
// character.
func consumes(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return consumes(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min > 0 && consumes(re.Sub[0])
	case syntax.OpConcat:
		return slices.ContainsFunc(re.Sub, consumes)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !consumes(sub) })
	default:
		return false
	}
}

// literal writes characters, each in all its cases if the case does not count.
func (d *dialect) literal(re *syntax.Regexp, at place) {
	for i, r := range re.Rune {
		rs := []rune{r, r}
		for f := unicode.SimpleFold(r); re.Flags&syntax.FoldCase != 0 && f != r; f = unicode.SimpleFold(f) {
			rs = append(rs, f, f)
		}
		if word := r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'); word && len(rs) == 2 {
			d.out.WriteRune(r)
			continue
		}
		d.class(rs, place{false, at.final && i == len(re.Rune)-1})
	}
}

// class writes a class of characters. Package regexp takes a byte that is not
// UTF-8 for U+FFFD.
func (d *dialect) class(rs []rune, at place) {
	d.need(rs, at)
	if !has(rs, utf8.RuneError) {
		d.set(rs)
		return
	}
	d.out.WriteString("(?:")
	d.set(rs)
	d.out.WriteString(`|(?-u:[\x80-\xFF]))`)
}

// need notes what a character of a class, once at least, does to exactness. It
// may be the carriage return of the line's end, or only a part of a character:
// where the class has all characters of several bytes, that makes a difference
// only beside another such part.
func (d *dialect) need(rs []rune, at place) {
	if has(rs, '\r') && at.final {
		d.exact = false
	}
	if has(rs, utf8.RuneError) {
		d.wide++
		d.exact = d.exact && d.wide == 1 && d.loops == 0 && allBeyondASCII(rs)
	}
}

// set writes the characters of ranges that can be in a line: no line feed, and
// no surrogates, which are no characters in UTF-8.
func (d *dialect) set(rs []rune) {
	start := d.out.Len()
	d.out.WriteString("[")
	for i := 0; i < len(rs); i += 2 {
		d.span(rs[i], min(rs[i+1], '\n'-1))
		d.span(max(rs[i], '\n'+1), min(rs[i+1], 0xD7FF))
		d.span(max(rs[i], 0xE000), rs[i+1])
	}
	d.bad = d.bad || d.out.Len() == start+1
	d.out.WriteString("]")
}

func (d *dialect) span(lo, hi rune) {
	if lo <= hi {
		fmt.Fprintf(&d.out, `\x{%X}-\x{%X}`, lo, hi)
	}
}

// bytes writes a byte of a class that has all characters beyond ASCII.
func (d *dialect) bytes(rs []rune) {
	d.out.WriteString(`(?-u:[^\n`)
	for c := range rune(utf8.RuneSelf) {
		if !has(rs, c) {
			fmt.Fprintf(&d.out, `\x%02X`, c)
		}
	}
	d.out.WriteString("])")
}

// ranges returns the pairs of first and last characters of a class, nil for
// other expressions.
func ranges(re *syntax.Regexp) []rune {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []rune{0, unicode.MaxRune}
	case syntax.OpCharClass:
		return re.Rune
	default:
		return nil
	}
}

func has(rs []rune, r rune) bool {
	for i := 0; i < len(rs); i += 2 {
		if rs[i] <= r && r <= rs[i+1] {
			return true
		}
	}
	return false
}

// allBeyondASCII reports whether a class holds every character beyond ASCII.
func allBeyondASCII(rs []rune) bool {
	n := len(rs)
	return n > 0 && rs[n-2] <= utf8.RuneSelf && rs[n-1] == unicode.MaxRune
}

// plainGlobs returns globs that stand for one in ripgrep's terms, and match no
// less; none if it can't be put so, or is "". Globs that match everything in a
// folder are left out too: with them ripgrep would look into folders that are
// ignored.
func plainGlobs(glob string) []string {
	body := glob
	if rest, ok := strings.CutPrefix(body, "./"); ok {
		body = "/" + rest
	}
	alternatives, err := expand(body)
	if err != nil || strings.ContainsAny(glob, "!?[") {
		return nil
	}
	var plain []string
	for _, a := range alternatives {
		if strings.Contains(body, "/") { // also if only one of the alternatives has the slash
			a = "/" + strings.TrimPrefix(a, "/")
		}
		if !plainRule(a) || strings.Trim(a[strings.LastIndexByte(a, '/')+1:], "*") == "" {
			return nil
		}
		plain = append(plain, a)
	}
	return plain
}

// plainRule reports whether a line of an ignore file means the same to git and
// to ripgrep, which has braces, no POSIX classes, and other thoughts about
// slashes in classes, odd stars and spaces; as long as paths are ASCII if it
// has a "?".
func plainRule(line string) bool {
	line = strings.TrimPrefix(line, "!")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "/"), "/")
	for name := range strings.SplitSeq(line, "/") {
		switch {
		case name == "" || name == "." || name == ".." || !isASCII(name):
			return false
		case strings.Contains(name, "**") && name != "**":
			return false
		case strings.ContainsAny(plainClass.ReplaceAllString(name, ""), `\[]{}!`):
			return false
		}
	}
	return !strings.HasSuffix(line, " ") && !strings.ContainsFunc(line, unicode.IsControl)
}

// plainClass is a class of letters that stand for themselves.
var plainClass = regexp.MustCompile(`\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9._])+\]`)

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
