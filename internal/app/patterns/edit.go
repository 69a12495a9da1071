package patterns

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits of the comparison of a block.
const (
	maxCells = 1 << 19 // product of the numbers of tokens that are compared one by one
	alike    = 0.3     // share of equal tokens below which a block was rewritten as one
	maxShape = 400     // bytes of a shape's text
)

// shapeKey identifies a shape.
type shapeKey [16]byte

// edit is a change of neighbouring tokens of a block.
type edit struct {
	key  shapeKey
	text string // the shape for people
	line int    // in the new lines of the block, from 0
	old  []token
	new  []token
}

// edits returns the edits of a block, except for those of imports.
func (b *block) edits(f *family, i *imported) (all []edit) {
	before, after := f.lex(b.old), f.lex(b.new)
	if f.indents {
		relative(before, after)
	}
	oldImports, before := split(before)
	newImports, after := split(after)
	i.old, i.new = append(i.old, oldImports...), append(i.new, newImports...)
	for _, d := range differences(before, after) {
		e := edit{old: before[d.oldFrom:d.oldTo], new: after[d.newFrom:d.newTo], line: lineAt(after, d.newFrom)}
		e.shape(f, around(f, before, after, d))
		all = append(all, e)
	}
	if len(all)+len(oldImports)+len(newImports) == 0 {
		e := edit{}
		e.set(f, "white space or spelling only")
		all = append(all, e)
	}
	return all
}

func lineAt(tokens []token, i int) int {
	switch {
	case i < len(tokens):
		return tokens[i].line
	case len(tokens) > 0:
		return tokens[len(tokens)-1].line
	}
	return 0
}

// relative makes indentation relative to the lowest of both versions.
func relative(versions ...[]token) {
	lowest := -1
	for _, tokens := range versions {
		for _, t := range tokens {
			if n, err := strconv.Atoi(t.text); t.kind == indentKind && err == nil && (lowest < 0 || n < lowest) {
				lowest = n
			}
		}
	}
	for _, tokens := range versions {
		for i, t := range tokens {
			if t.kind == indentKind {
				n, _ := strconv.Atoi(t.text)
				tokens[i].text = strconv.Itoa(n - lowest)
			}
		}
	}
}

// split separates the lines that import something from the others.
func split(tokens []token) (imported [][]token, others []token) {
	for row := range rows(tokens) {
		if row[len(row)-1].fixed {
			if row[0].kind == indentKind {
				row = row[1:]
			}
			imported = append(imported, row)
		} else {
			others = append(others, row...)
		}
	}
	return imported, others
}

// imported is the changed imports of a file, by line.
type imported struct{ old, new [][]token }

// edits compares the imports as sets, so that their order and groups do not matter.
func (m *imported) edits(f *family) (all []edit) {
	left := map[string]int{}
	for _, row := range m.old {
		left[joined(row)]++
	}
	add := func(sign string, row []token) {
		e := edit{}
		e.set(f, "import: "+sign+" "+joined(row))
		all = append(all, e)
	}
	for _, row := range m.new {
		text := joined(row)
		if left[text]--; left[text] < 0 {
			add("+", row)
		}
	}
	for _, row := range m.old {
		if text := joined(row); left[text] > 0 {
			left[text]--
			add("−", row)
		}
	}
	if len(all) == 0 && len(m.old)+len(m.new) > 0 {
		e := edit{}
		e.set(f, "order of imports only")
		all = append(all, e)
	}
	return all
}

// set gives an edit its shape.
func (e *edit) set(f *family, shape string) {
	sum := sha256.Sum256([]byte(f.name + "\x00" + shape))
	e.key = shapeKey(sum[:16])
	e.text = shorten(shape, maxShape)
}

// joined returns the text of tokens.
func joined(tokens []token) string {
	var b strings.Builder
	for i := range tokens {
		write(&b, tokens, i, tokens[i].text)
	}
	return b.String()
}

// write adds the text of a token, after a space where people write one.
func write(b *strings.Builder, tokens []token, i int, text string) {
	if i > 0 {
		before := tokens[i-1]
		tight := before.text == "(" || before.text == "[" || before.text == "." || before.text == "!" || text == ")" || text == "]" || text == "," || text == "." || text == ";" ||
			text == ":" || (text == "(" || text == "[") && before.kind == nameKind && !keywords()[before.text]
		if !tight || before.line != tokens[i].line {
			b.WriteByte(' ')
		}
	}
	b.WriteString(text)
}

// difference is a range of tokens that was replaced.
type difference struct{ oldFrom, oldTo, newFrom, newTo int }

// differences returns the ranges in which two texts differ.
func differences(a, b []token) []difference {
	start := 0
	for start < len(a) && start < len(b) && same(a[start], b[start]) {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && same(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	a, b = a[start:len(a)-end], b[start:len(b)-end]
	if len(a)+len(b) == 0 {
		return nil
	}
	all := []difference{{0, len(a), 0, len(b)}}
	if len(a) > 0 && len(b) > 0 && len(a) <= maxCells/len(b) {
		parts, equal := common(a, b)
		if float64(2*(equal+start+end)) >= alike*float64(len(a)+len(b)+2*(start+end)) {
			all = parts
		}
	}
	for i := range all {
		all[i] = difference{all[i].oldFrom + start, all[i].oldTo + start, all[i].newFrom + start, all[i].newTo + start}
	}
	return all
}

func same(a, b token) bool { return a.kind == b.kind && a.text == b.text }

// common compares two texts by their longest common subsequence, and returns its length.
func common(a, b []token) (all []difference, equal int) {
	width := len(b) + 1
	length := make([]uint16, (len(a)+1)*width) // of the subsequence of the rests
	for i, left := range slices.Backward(a) {
		for k, right := range slices.Backward(b) {
			if same(left, right) {
				length[i*width+k] = length[(i+1)*width+k+1] + 1
			} else {
				length[i*width+k] = max(length[(i+1)*width+k], length[i*width+k+1])
			}
		}
	}
	d := difference{}
	flush := func(i, k int) {
		if d.oldTo, d.newTo = i, k; d.oldTo > d.oldFrom || d.newTo > d.newFrom {
			all = append(all, d)
		}
	}
	i, k := 0, 0
	for i < len(a) && k < len(b) {
		switch {
		case same(a[i], b[k]):
			flush(i, k)
			i, k = i+1, k+1
			d.oldFrom, d.newFrom = i, k
		case length[(i+1)*width+k] >= length[i*width+k+1]:
			i++
		default:
			k++
		}
	}
	flush(len(a), len(b))
	return all, int(length[0])
}

// around returns what an edit belongs to: the function whose argument it is, or the first
// word of its line; empty for none.
func around(f *family, before, after []token, d difference) string {
	tokens, at := after, d.newFrom
	line := lineAt(after, d.newFrom)
	if d.newFrom == d.newTo {
		tokens, at, line = before, d.oldFrom, lineAt(before, d.oldFrom)
	}
	first, depth := at, 0
	for i := at - 1; i >= 0 && tokens[i].line == line; i-- {
		first = i
		switch t := tokens[i]; t.text {
		case ")":
			depth++
		case "(":
			if depth--; depth < 0 && !f.keyed && i > 0 && tokens[i-1].kind == nameKind && tokens[i-1].line == line {
				name := tokens[i-1].text
				return name[strings.LastIndexAny(name, ".:>")+1:] + "(…"
			}
		}
	}
	for first < at && tokens[first].kind == indentKind {
		first++
	}
	if first < at && first < len(tokens) && (f.keyed || keywords()[tokens[first].text]) {
		return tokens[first].text + " …"
	}
	return ""
}

// shape gives an edit its shape. Names of variables are replaced by numbers, those of
// functions, members, types and keys are not. An edit without a name of its own has the
// function or key that it belongs to.
func (e *edit) shape(f *family, where string) {
	n := naming{f: f, old: receivers(e.old), new: receivers(e.new), numbers: map[string]int{}}
	before, after := n.before(e), n.write(e.new, n.old)
	if !n.concrete {
		n = naming{f: f, verbatim: true}
		before, after = n.before(e), n.write(e.new, nil)
	}
	shape := strings.TrimSpace(before + " → " + after)
	switch {
	case len(e.old) == 0:
		shape = "+ " + after
	case len(e.new) == 0:
		shape = "− " + before
	}
	if where != "" && (f.keyed || !n.named) {
		shape = where + " " + shape
	}
	e.set(f, shape)
}

// receivers returns the first names of qualified names.
func receivers(tokens []token) map[string]bool {
	set := map[string]bool{}
	for _, t := range tokens {
		if t.kind == nameKind {
			set[t.text[:head(t.text)]] = true
		}
	}
	return set
}

// head returns the length of the first name of a qualified one.
func head(name string) int {
	if i := strings.IndexAny(name, ".:-?"); i > 0 {
		return i
	}
	return len(name)
}

// naming replaces names.
type naming struct {
	f        *family
	verbatim bool
	versions bool            // are written as such
	old, new map[string]bool // receivers of both versions
	numbers  map[string]int
	concrete bool // something was written that is not a variable or a bracket
	named    bool // a name was written
}

// before writes the removed tokens. Versions that were replaced differ among repositories.
func (n *naming) before(e *edit) string {
	n.versions = len(e.new) > 0
	defer func() { n.versions = false }()
	return n.write(e.old, n.new)
}

// version is a version alone, also as a string.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^["']?[~^=<>v ]*\d+(?:\.\d+)+(?:[-+.]\w+)*["']?$`) })

func (n *naming) write(tokens []token, other map[string]bool) string {
	var b strings.Builder
	last := ""
	for i, t := range tokens {
		text := n.token(t, other)
		if t.kind != commentKind || text != last { // several comments are as good as one
			write(&b, tokens, i, text)
		}
		last = text
	}
	return b.String()
}

// token returns the text of a token in a shape. other has the receivers of the other
// version: one that is in both is a variable.
func (n *naming) token(t token, other map[string]bool) string {
	switch {
	case t.kind == commentKind && len(directives(t.text)) == 0:
		n.concrete = true
		return "comment"
	case n.versions && (t.kind == numberKind || t.kind == stringKind) && version().MatchString(t.text):
		n.concrete = true
		return "version"
	case t.kind == indentKind:
		n.concrete = true
		return "⇥" + t.text
	case t.kind == nameKind && !n.verbatim && !n.f.plain:
		return n.name(t, other)
	case t.kind == signKind:
		n.concrete = n.concrete || !strings.Contains("()[]{},;.:", t.text)
		return t.text
	case t.kind == nameKind:
		n.named = n.named || !n.verbatim && !n.f.keyed
	}
	n.concrete = n.concrete || t.kind != stringKind || n.verbatim
	return t.text
}

func (n *naming) name(t token, other map[string]bool) string {
	if keywords()[t.text] {
		n.concrete = true
		return t.text
	}
	h := head(t.text)
	if h < len(t.text) {
		n.concrete, n.named = true, true
		if other[t.text[:h]] {
			return n.number(t.text[:h]) + t.text[h:]
		}
		return t.text
	}
	if t.call || t.member || t.key || t.fixed {
		n.concrete, n.named = true, true
		return t.text
	}
	return n.number(t.text)
}

func (n *naming) number(name string) string {
	if n.numbers[name] == 0 {
		n.numbers[name] = len(n.numbers) + 1
	}
	return fmt.Sprintf("$%d", n.numbers[name])
}
