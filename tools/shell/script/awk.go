package script

import "strings"

// Awk is what an awk program does beyond printing. It isn't parsed: whatever looks like a
// pipe, a call of system or an output file counts.
type Awk struct {
	Runs   bool // it can run a command
	Hidden bool // it uses a file whose name isn't written out
	Files  []File
}

// ReadAwk returns what a program does.
func ReadAwk(text string) Awk {
	s := awkScanner{text: text}
	s.scan()
	return s.Awk
}

// awkScanner goes through the tokens of an awk program.
type awkScanner struct {
	text   string
	at     int
	last   string // the token before
	prints bool   // in a print statement, where ">" writes a file
	paren  int    // open parentheses

	Awk
}

func (s *awkScanner) scan() {
	for s.at < len(s.text) {
		s.token()
	}
}

// token reads one token and notes what it does.
func (s *awkScanner) token() {
	c := s.text[s.at]
	switch {
	case c == '"':
		s.str()
		s.last = `"`
		return
	case c == '\\' && strings.HasPrefix(s.text[s.at+1:], "\n"):
		s.at += 2
		return
	case c == '/':
		s.slash()
		return
	case c == '#':
		n := strings.IndexByte(s.text[s.at:], '\n')
		if n < 0 {
			n = len(s.text) - s.at
		}
		s.at += n
		return
	case isName(c):
		s.name()
		return
	}
	s.at++
	switch c {
	case ' ', '\t':
		return
	case '(':
		s.paren++
	case ')':
		s.paren = max(s.paren-1, 0)
	case ';', '\n', '{', '}':
		s.prints, s.paren = false, 0
	case '|':
		s.pipe()
	case '>':
		s.output()
	case '@':
		s.Runs = true // @include, @load, or a call by a name that is data
	}
	s.last = string(c)
}

// name reads a word or a number.
func (s *awkScanner) name() {
	from := s.at
	for s.at < len(s.text) && isName(s.text[s.at]) {
		s.at++
	}
	s.last = s.text[from:s.at]
	switch s.last {
	case "system":
		s.Runs = true
	case "print", "printf":
		s.prints, s.paren = true, 0
	case "ARGV", "ARGC":
		s.Hidden = true
	case "getline":
		s.getline()
	}
}

// getline reads a file if "<" follows, perhaps after a variable.
func (s *awkScanner) getline() {
	rest := strings.TrimLeft(s.text[s.at:], " \t")
	for rest != "" && (isName(rest[0]) || strings.IndexByte("$[]\"", rest[0]) >= 0) {
		rest = rest[1:]
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "<")
	if ok {
		s.file(rest, false)
	}
}

// pipe is "|", unless it is half of "||".
func (s *awkScanner) pipe() {
	if strings.HasPrefix(s.text[s.at:], "|") {
		s.at++
		return
	}
	s.Runs = true
}

// output is ">", which writes a file in a print statement outside parentheses
// and compares elsewhere.
func (s *awkScanner) output() {
	if !s.prints || s.paren > 0 {
		return
	}
	s.file(strings.TrimPrefix(s.text[s.at:], ">"), true)
}

// file notes the file whose name the expression at the start of rest gives.
func (s *awkScanner) file(rest string, write bool) {
	rest = strings.TrimLeft(rest, " \t")
	t := awkScanner{text: rest}
	if rest == "" || rest[0] != '"' {
		s.Hidden = true
		return
	}
	name := t.str()
	after := strings.TrimLeft(rest[t.at:], " \t")
	if after != "" && strings.IndexByte(";}\n)&|", after[0]) < 0 || strings.Contains(name, `\`) {
		s.Hidden = true
		return
	}
	if name != "-" && !strings.HasPrefix(name, "/inet") {
		s.Files = append(s.Files, File{name, write})
	}
	s.Runs = s.Runs || strings.HasPrefix(name, "/inet")
}

// str reads a string and returns what is between the quotes.
func (s *awkScanner) str() string {
	s.at++
	from := s.at
	for s.at < len(s.text) && s.text[s.at] != '"' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
	out := s.text[from:s.at]
	s.at = min(s.at+1, len(s.text))
	return out
}

// slash distinguishes a regular expression from a division by the token before. Where
// it could be both, and quotes would be read in another way, anything can be
// hidden in it.
func (s *awkScanner) slash() {
	divides := s.last == ")" || s.last == "]" || s.last == `"` || s.last == "/" || s.last != "" && isName(s.last[0]) && !isAwkKeyword(s.last)
	if s.last == ")" || s.last == "+" || s.last == "-" {
		line, _, _ := strings.Cut(s.text[s.at+1:], "\n")
		if i := strings.LastIndexByte(line, '/'); i >= 0 && strings.ContainsAny(line[:i], "\"#") {
			s.Runs = true
		}
	}
	if divides {
		s.at++
		s.last = "division"
		return
	}
	s.regexp()
	s.last = "/"
}

// isAwkKeyword reports whether an expression starts after a word.
func isAwkKeyword(name string) bool {
	switch name {
	case "print", "printf", "return", "case", "in", "else", "do", "exit", "division":
		return true
	}
	return false
}

// regexp reads a regular expression. If it doesn't end on its line it was a
// division after all. Where awks may differ about its end because of brackets,
// quotes can hide anything.
func (s *awkScanner) regexp() {
	line, _, _ := strings.Cut(s.text[s.at+1:], "\n")
	first, last := regexpEnd(line, false), regexpEnd(line, true)
	if first < 0 {
		s.at++
		return
	}
	body := withoutEscapes(line[:first])
	if strings.Count(body, "[") != strings.Count(body, "]") || strings.Contains(body, "[]") || strings.Contains(body, "[^]") {
		rest := line[first:]
		if i := strings.LastIndexByte(rest, '/'); i > 0 && strings.ContainsAny(rest[:i], "\"#") {
			s.Runs = true
		}
	}
	if last < 0 {
		last = first
	}
	s.at += last + 2
}

// regexpEnd returns where a regular expression ends, -1 if it doesn't: at the
// first slash, or with brackets the first one outside them.
func regexpEnd(line string, brackets bool) int {
	inside := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '[':
			inside = brackets
		case ']':
			inside = false
		case '/':
			if !inside {
				return i
			}
		}
	}
	return -1
}

// withoutEscapes returns text without its backslashes and what they quote.
func withoutEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
