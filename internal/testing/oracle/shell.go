package oracle

import "strings"

// commands returns the text of each simple command of a command line, those of command
// substitutions included, and a redirected one with its redirections, as OpenCode submits
// them. It knows the syntax that the tests' lines have: quotes, lists, pipelines,
// subshells, command substitutions, assignments and redirections.
func commands(line string) []string {
	s := scanner{text: line}
	s.list(0)
	return s.found
}

type scanner struct {
	text  string
	at    int
	found []string
}

// list reads commands up to a closing character, or to the end for 0.
func (s *scanner) list(closing byte) {
	for s.at < len(s.text) && s.text[s.at] != closing {
		switch s.text[s.at] {
		case ' ', '\t', '\n', ';', '|', '&':
			s.at++
		case '(':
			s.at++
			s.list(')')
			s.at++
		default:
			s.command(closing)
		}
	}
}

// command reads one simple command.
func (s *scanner) command(closing byte) {
	start, at := s.at, len(s.found)
	for s.at < len(s.text) && s.text[s.at] != closing && !s.ends() {
		s.char()
	}
	text := strings.TrimSpace(s.text[start:s.at])
	if onlyAssigns(text) {
		return
	}
	inner := append([]string{text}, s.found[at:]...)
	s.found = append(s.found[:at], inner...)
}

// ends reports whether an operator that ends a command is next. "&" of a redirection
// does not.
func (s *scanner) ends() bool {
	switch c := s.text[s.at]; c {
	case ';', '|', '\n':
		return true
	case '&':
		redirects := s.at+1 < len(s.text) && s.text[s.at+1] == '>' || s.at > 0 && s.text[s.at-1] == '>'
		return !redirects
	default:
		return c == ')'
	}
}

// char reads one character of a command, or a quoted text or substitution.
func (s *scanner) char() {
	switch c := s.text[s.at]; {
	case c == '\\':
		s.at += 2
	case c == '\'':
		s.at += strings.IndexByte(s.text[s.at+1:], '\'') + 2
	case c == '"':
		for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; {
			s.char2()
		}
		s.at++
	default:
		s.char2()
	}
	s.at = min(s.at, len(s.text))
}

// char2 reads one character, or a substitution, which quotes may contain.
func (s *scanner) char2() {
	switch rest := s.text[s.at:]; {
	case strings.HasPrefix(rest, "$("):
		s.at += 2
		s.list(')')
		s.at++
	case rest[0] == '`':
		s.at++
		s.list('`')
		s.at++
	case rest[0] == '\\':
		s.at += 2
	default:
		s.at++
	}
}

// onlyAssigns reports whether a text consists of assignments, which are no command.
func onlyAssigns(text string) bool {
	for word := range strings.FieldsSeq(text) {
		name, _, ok := strings.Cut(word, "=")
		if !ok || name == "" || strings.ContainsAny(name, `"'$-/.`) {
			return false
		}
	}
	return true
}
