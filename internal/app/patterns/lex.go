package patterns

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kind is what a token is.
type kind byte

const (
	nameKind kind = iota
	numberKind
	stringKind
	commentKind
	indentKind
	signKind // operators and brackets
)

// token is an element of a text. A qualified name, such as os.ReadFile, is one token.
type token struct {
	kind   kind
	text   string
	line   int  // from 0
	call   bool // a name before an opening parenthesis
	member bool // a name after a dot
	key    bool // a name before a colon
	fixed  bool // of a line whose names all belong to the edit, such as an import
}

// family is how the texts of similar languages are divided into tokens.
type family struct {
	name    string
	line    []string    // starts of comments up to the end of the line
	blocks  [][2]string // starts and ends of other comments
	quotes  []string    // the longest first; the end is equal to the start
	indents bool        // indentation has a meaning
	plain   bool        // names are never replaced: there are no local ones
	keyed   bool        // an edit belongs to the first word of its line
	words   bool        // tokens are words, without strings
	imports string      // first words of lines that name other code, separated by spaces
	files   string      // extensions and names of files, separated by spaces
}

var slashes = [][2]string{{"/*", "*/"}}

var families = []family{
	{name: "go", line: []string{"//"}, blocks: slashes, quotes: []string{"`", `"`, "'"}, imports: "import package", files: "go"},
	{name: "javascript", line: []string{"//"}, blocks: slashes, quotes: []string{"`", `"`, "'"}, imports: "import from", files: "js jsx ts tsx mjs cjs mts cts vue svelte"},
	{name: "c", line: []string{"//"}, blocks: slashes, quotes: []string{`"""`, `"`, "'"}, imports: "import using include package extern", files: "c h cc cpp cxx hpp hh m mm java kt kts scala cs swift dart groovy gradle proto zig d v sv glsl"},
	{name: "rust", line: []string{"//"}, blocks: slashes, quotes: []string{`"`}, imports: "use mod extern", files: "rs"},
	{name: "php", line: []string{"//", "#"}, blocks: slashes, quotes: []string{`"`, "'"}, imports: "use require include require_once include_once", files: "php"},
	{name: "python", line: []string{"#"}, quotes: []string{`"""`, "'''", `"`, "'"}, indents: true, imports: "import from", files: "py pyi pyx bzl star BUILD WORKSPACE"},
	{name: "ruby", line: []string{"#"}, quotes: []string{`"`, "'"}, imports: "require include use using import from package", files: "rb rake ex exs jl pl pm r R cr nim Rakefile"},
	{name: "lua", line: []string{"--"}, blocks: [][2]string{{"--[[", "]]"}, {"{-", "-}"}}, quotes: []string{`"`}, imports: "import require", files: "lua hs elm"},
	{name: "lisp", line: []string{";"}, quotes: []string{`"`}, files: "el lisp clj cljs scm"},
	{name: "sql", line: []string{"--"}, blocks: slashes, quotes: []string{`"`, "'"}, plain: true, files: "sql"},
	{name: "css", line: []string{"//"}, blocks: slashes, quotes: []string{`"`, "'"}, plain: true, keyed: true, files: "css scss less"},
	{name: "shell", line: []string{"#"}, quotes: []string{`"`, "'"}, plain: true, imports: "include", files: "sh bash zsh fish bat ps1 mk cmake tf hcl nix Makefile Dockerfile Containerfile"},
	{name: "yaml", line: []string{"#"}, quotes: []string{`"`, "'"}, plain: true, keyed: true, indents: true, files: "yaml yml"},
	{name: "data", line: []string{"#", "//"}, quotes: []string{`"`}, plain: true, keyed: true, imports: "require use", files: "json jsonc json5 toml ini cfg conf properties env lock go.mod go.work Gemfile Pipfile Podfile"},
	{name: "markup", blocks: [][2]string{{"<!--", "-->"}}, quotes: []string{`"`}, plain: true, files: "html htm xml xhtml svg csproj fsproj vbproj props targets plist"},
}

var text = family{name: "text", plain: true, words: true}

// familyOf returns the family of a file; that of plain text if no other is known.
func familyOf(file string) *family {
	base := path.Base(file)
	ext := strings.TrimPrefix(path.Ext(base), ".")
	for _, name := range []string{base, ext} {
		for i := range families {
			if slices.Contains(strings.Fields(families[i].files), name) {
				return &families[i]
			}
		}
	}
	return &text
}

// keywords are names that languages define. They always belong to an edit.
var keywords = sync.OnceValue(func() map[string]bool {
	return keywordSet(`_ and as assert async await begin break case catch chan class const continue def default
	defer del do elif else elseif elsif end enum except export extends extern fallthrough false finally fn for foreach
	from func function go goto if impl implements import in include instanceof interface is lambda let loop map match mod
	module mut namespace new next nil nonlocal none None not null Null NULL or override package panic pass priv private
	protected pub public raise range redo ref require rescue return Self self select sizeof static struct super switch
	then this throw throws trait True False true try type typeof undef undefined union unless unsafe until use using var
	virtual void volatile when where while with yield bool byte int string float error any`)
})

// lists reports whether a text has a word, separated by spaces.
func lists(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if w == word {
			return true
		}
	}
	return false
}

func keywordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// signs are operators of several characters, the longest first.
var signs = []string{"===", "!==", "...", "<<=", ">>=", "**=", ":=", "==", "!=", "<=", ">=", "&&", "||", "->", "=>", "::", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "++", "--", "??", "?.", "<-", "&^", "|=", "&=", "^=", "**"}

// lexer divides a text into tokens.
type lexer struct {
	f      *family
	s      string
	i      int
	line   int
	fresh  bool            // nothing but white space was found in the line
	open   map[string]bool // starts of comments and strings whose end was not found
	tokens []token
}

// lex returns the tokens of lines.
func (f *family) lex(lines []string) []token {
	l := &lexer{f: f, s: strings.Join(lines, "\n"), fresh: true, open: map[string]bool{}}
	for l.i < len(l.s) {
		l.step()
	}
	l.fix()
	return l.tokens
}

func (l *lexer) step() {
	rest := l.s[l.i:]
	switch c := rest[0]; {
	case c == '\n':
		l.line, l.fresh = l.line+1, true
		l.i++
		return
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		width := spaces(rest)
		if l.fresh && l.f.indents && width < len(rest) && rest[width] != '\n' {
			l.add(indentKind, width, strconv.Itoa(columns(rest[:width])))
			l.fresh = false
			return
		}
		l.i += width
		return
	}
	if l.fresh && l.f.indents {
		l.tokens = append(l.tokens, token{kind: indentKind, text: "0", line: l.line})
	}
	l.fresh = false
	if n := l.comment(rest); n > 0 {
		l.add(commentKind, n, strings.TrimSpace(rest[:n]))
		return
	}
	if n := l.quoted(rest); n > 0 {
		l.add(stringKind, n, rest[:n])
		return
	}
	if l.f.words {
		n := strings.IndexAny(rest, " \t\r\n\f\v")
		if n < 0 {
			n = len(rest)
		}
		l.add(nameKind, n, rest[:n])
		return
	}
	if n := versionLength(rest); n > 0 {
		l.add(numberKind, n, rest[:n])
		return
	}
	if isDigit(rest[0]) {
		n := 1
		for n < len(rest) && (isName(rest[n]) || rest[n] == '.') {
			n++
		}
		l.add(numberKind, n, l.number(rest[:n]))
		return
	}
	if n := l.qualified(rest); n > 0 {
		l.name(n, rest)
		return
	}
	l.sign(rest)
}

// add adds a token of n bytes, and continues after it.
func (l *lexer) add(k kind, n int, text string) {
	l.tokens = append(l.tokens, token{kind: k, text: text, line: l.line})
	l.line += strings.Count(l.s[l.i:l.i+n], "\n")
	l.i += n
}

func (l *lexer) name(n int, rest string) {
	last := l.last()
	member := last != nil && last.kind == signKind && (last.text == "." || last.text == "->" || last.text == "::" || last.text == "?.")
	l.add(nameKind, n, rest[:n])
	l.last().member = member
}

func (l *lexer) last() *token {
	if len(l.tokens) == 0 {
		return nil
	}
	return &l.tokens[len(l.tokens)-1]
}

func (l *lexer) sign(rest string) {
	text := rest[:1]
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			text = s
			break
		}
	}
	if last := l.last(); last != nil && last.kind == nameKind && last.line == l.line {
		switch {
		case text == "(":
			last.call = true
		case text == ":":
			last.key = true
		case text == "!" && strings.HasPrefix(rest, "!("): // a macro of Rust
			last.call = true
		}
	}
	l.add(signKind, len(text), text)
}

// comment returns the length of the comment that a text starts with. One without an end is
// that of its line, so that code after it is not taken for a comment.
func (l *lexer) comment(s string) int {
	for _, b := range l.f.blocks {
		if rest, ok := strings.CutPrefix(s, b[0]); ok {
			if !l.open[b[0]] {
				if end := strings.Index(rest, b[1]); end >= 0 {
					return len(b[0]) + end + len(b[1])
				}
				l.open[b[0]] = true
			}
			return lineLength(s)
		}
	}
	for _, start := range l.f.line {
		if strings.HasPrefix(s, start) && l.startsComment(start, s) {
			return lineLength(s)
		}
	}
	return 0
}

// startsComment reports whether what looks like a comment is one: in languages with words
// that are not quoted, it follows a space. An attribute of PHP or Rust is not a comment.
func (l *lexer) startsComment(start, s string) bool {
	if start == "#" && strings.HasPrefix(s, "#[") {
		return false
	}
	if l.f.plain && l.i > 0 {
		before := l.s[l.i-1]
		return before == ' ' || before == '\t' || before == '\n'
	}
	return true
}

// quoted returns the length of the string that a text starts with, up to the end of its
// line if it has no end.
func (l *lexer) quoted(s string) int {
	for _, q := range l.f.quotes {
		if !strings.HasPrefix(s, q) {
			continue
		}
		lines := (len(q) == 3 || q == "`") && !l.open[q]
		for i := len(q); i < len(s); i++ {
			switch {
			case s[i] == '\n' && !lines:
				return i
			case s[i] == '\\' && i+1 < len(s) && s[i+1] != '\n' && !(q == "`" && l.f.name == "go"):
				i++
			case strings.HasPrefix(s[i:], q):
				return i + len(q)
			}
		}
		if lines {
			l.open[q] = true
		}
		return lineLength(s)
	}
	return 0
}

// qualified returns the length of the qualified name that a text starts with.
func (l *lexer) qualified(s string) int {
	n := nameLength(s)
	seps := []string{".", "::", "->", "?."}
	if l.f.plain {
		seps = []string{".", "/", "-", "@"} // as in names of modules and keys
	}
	for n > 0 {
		more := 0
		for _, sep := range seps {
			if rest, ok := strings.CutPrefix(s[n:], sep); ok {
				if m := nameLength(rest); m > 0 {
					more = len(sep) + m
					break
				}
			}
		}
		if more == 0 {
			break
		}
		n += more
	}
	return n
}

// number returns a number in one spelling: Go has two for octal numbers, and agents change them.
func (l *lexer) number(s string) string {
	if l.f.name == "go" && len(s) > 1 && s[0] == '0' && strings.Trim(s, "01234567") == "" {
		return "0o" + s[1:]
	}
	return s
}

// versionLength returns the length of the version that a text starts with, such as v1.2.0-rc.1.
func versionLength(s string) int {
	n := 0
	if s[0] == 'v' {
		n = 1
	}
	if n == len(s) || !isDigit(s[n]) {
		return 0
	}
	dots := 0
	for n < len(s) && (isName(s[n]) || dots > 0 && (s[n] == '-' || s[n] == '+') || s[n] == '.' && n+1 < len(s) && isDigit(s[n+1])) {
		if s[n] == '.' {
			dots++
		}
		n++
	}
	if s[0] != 'v' && dots < 2 {
		return 0
	}
	return n
}

func nameLength(s string) int {
	n := 0
	for n < len(s) && isName(s[n]) && (n > 0 || !isDigit(s[n])) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func spaces(s string) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] == '\r' || s[n] == '\f' || s[n] == '\v') {
		n++
	}
	return n
}

// columns returns the width of an indentation.
func columns(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] == '\t' {
			n += 8 - n%8
		} else {
			n++
		}
	}
	return n
}

func lineLength(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// fix marks the tokens of lines that import something.
func (l *lexer) fix() {
	for row := range rows(l.tokens) {
		if l.f.isImport(row) {
			for i := range row {
				row[i].fixed = true
			}
		}
	}
}

// rows returns the tokens of each line. A token of several lines belongs to the first.
func rows(tokens []token) iter.Seq[[]token] {
	return func(yield func([]token) bool) {
		for i := 0; i < len(tokens); {
			end := i
			for end < len(tokens) && tokens[end].line == tokens[i].line {
				end++
			}
			if !yield(tokens[i:end]) {
				return
			}
			i = end
		}
	}
}

// isImport reports whether a line names other code: by its first word, or in the import
// block of Go.
func (f *family) isImport(row []token) bool {
	if row[0].kind == indentKind {
		row = row[1:]
	}
	if len(row) > 1 && row[len(row)-1].kind == commentKind {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return false
	}
	first, last := row[0], row[len(row)-1]
	switch {
	case first.kind == nameKind && lists(f.imports, first.text), first.text == "#" && len(row) > 1 && row[1].text == "include":
		return true
	case f.name != "go" || last.kind != stringKind || len(row) > 2:
		return false
	}
	return len(row) == 1 || first.text == "." || first.text == "_" || first.kind == nameKind && !keywords()[first.text]
}
