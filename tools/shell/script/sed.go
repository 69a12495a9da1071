// Package script reads programs of awk and sed: which files they name, and whether they run commands. It does not know how
// these programs get their scripts.
package script

import "strings"

// File is a file that a script names.
type File struct {
	Name  string
	Write bool
}

// Sed is what a script of sed does beyond printing.
type Sed struct {
	Files    []File   // named by r, R, w, W and the flag w of s
	Commands []string // given to e
	Runs     bool     // e without a command, or the flag e of s
	Bad      bool     // something wasn't understood
}

// ReadSed returns what a script does.
func ReadSed(text string) Sed {
	s := sedScript{text: text}
	for s.at < len(s.text) && !s.Bad {
		s.command()
	}
	return s.Sed
}

// sedScript reads a script of GNU sed, a superset of POSIX sed's.
type sedScript struct {
	text string
	at   int

	Sed
}

// next returns the next byte, 0 at the end.
func (s *sedScript) next() byte {
	if s.at >= len(s.text) {
		return 0
	}
	s.at++
	return s.text[s.at-1]
}

// peek returns the next byte without reading it, 0 at the end.
func (s *sedScript) peek() byte {
	if s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// skip reads on while the next byte is one of chars.
func (s *sedScript) skip(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

// line returns the rest of the line.
func (s *sedScript) line() string {
	rest, _, _ := strings.Cut(s.text[s.at:], "\n")
	s.at = min(s.at+len(rest)+1, len(s.text))
	return rest
}

// command reads one command with its addresses.
func (s *sedScript) command() {
	s.skip(" \t\n;}")
	if s.at >= len(s.text) {
		return
	}
	s.addresses()
	s.skip(" \t!")
	switch c := s.next(); c {
	case 0, '{', '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
	case '#':
		s.line()
	case 'l', 'L', 'q', 'Q':
		s.skip(" \t0123456789")
	case ':', 'b', 't', 'T', 'v':
		s.label()
	case 'a', 'i', 'c':
		s.insertion()
	case 'r', 'R', 'w', 'W':
		s.skip(" \t")
		s.Files = append(s.Files, File{s.line(), c == 'w' || c == 'W'})
	case 'e':
		s.execution()
	case 's':
		s.substitution()
	case 'y':
		s.delimited(2)
	default:
		s.Bad = true
	}
}

// addresses reads "1", "$", "/re/", "\,re,", "1~2" and the like, and pairs.
func (s *sedScript) addresses() {
	for s.at < len(s.text) && !s.Bad {
		switch c := s.peek(); {
		case c >= '0' && c <= '9' || strings.IndexByte("$,+~ \t", c) >= 0:
			s.at++
		case c == '/':
			s.delimited(1)
			s.skip("IM")
		case c == '\\':
			s.at++
			s.delimited(1)
			s.skip("IM")
		default:
			return
		}
	}
}

// delimited reads n texts, each ended by the byte that comes first. In square
// brackets it counts too, as sed has it.
func (s *sedScript) delimited(n int) {
	end := s.next()
	if end == 0 || end == '\\' || end == '\n' {
		s.Bad = true
		return
	}
	for n > 0 {
		switch c := s.next(); c {
		case end:
			n--
		case '\\':
			if s.next() == 0 {
				s.Bad = true
			}
		case 0:
			s.Bad = true
		}
		if s.Bad {
			return
		}
	}
}

// label reads a label. Some versions let it go on over a ";", so that what
// follows counts as commands here even if it is not.
func (s *sedScript) label() {
	s.skip(" \t")
	for s.at < len(s.text) && strings.IndexByte(" \t\n;}", s.peek()) < 0 {
		s.at++
	}
}

// insertion reads the text of a, i and c: the rest of the line, and the next
// line after a backslash.
func (s *sedScript) insertion() {
	for s.at < len(s.text) {
		line := s.line()
		trimmed := strings.TrimRight(line, `\`)
		if (len(line)-len(trimmed))%2 == 0 {
			return
		}
	}
}

// execution reads e: with a command it runs that, without one the line that is
// being edited.
func (s *sedScript) execution() {
	s.skip(" \t")
	command := s.line()
	if trimmed := strings.Trim(command, " \t;}"); trimmed == "" {
		s.Runs = true
		return
	}
	s.Commands = append(s.Commands, command)
}

// substitution reads s with its flags.
func (s *sedScript) substitution() {
	s.delimited(2)
	for !s.Bad {
		switch c := s.peek(); {
		case c == 'e':
			s.at++
			s.Runs = true
		case c == 'w':
			s.at++
			s.skip(" \t")
			s.Files = append(s.Files, File{s.line(), true})
			return
		case c >= '0' && c <= '9' || strings.IndexByte("gpiIMm", c) >= 0 && c != 0:
			s.at++
		case c == 0 || strings.IndexByte(" \t\n;}#", c) >= 0:
			return
		default:
			s.Bad = true
		}
	}
}
