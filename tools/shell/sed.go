package shell

import "strings"

// parseSed reports the files of sed, which -i changes, and what its script does
// beyond printing.
func parseSed(w *walker, c call, d program) {
	p := d.parse(c.args())
	programFiles(w, c, d, p)
	if p.has("-f --file") {
		w.result.unknown(ReasonScript, c.text)
	}
	for _, o := range p.options {
		if (o.name == "-i" || o.name == "--in-place") && strings.Contains(o.value.text, "/") {
			w.result.unknownPath(o.value.text, true) // the path of the backup
		}
	}
	var scripts []string
	for _, x := range sedScripts(p) {
		if !x.literal() {
			w.result.unknown(ReasonScript, c.text)
		}
		scripts = append(scripts, x.text)
	}
	if len(scripts) == 0 && c.more {
		w.result.unknown(ReasonScript, c.text)
	}
	sedEffects(w, strings.Join(scripts, "\n"), c)
}

// sedScripts returns the sections of the script, each of which is lines of it.
func sedScripts(p parsed) []word {
	var scripts []word
	for _, o := range p.options {
		if (o.name == "-e" || o.name == "--expression") && o.given {
			scripts = append(scripts, o.value)
		}
	}
	if !p.has("-e -f --expression --file") && len(p.operands) > 0 {
		scripts = p.operands[:1]
	}
	return scripts
}

// sedEffects reports the files that a script names and the commands that it
// can run. A script that isn't understood can do anything.
func sedEffects(w *walker, text string, c call) {
	s := sedScript{text: text}
	for s.at < len(s.text) && !s.bad {
		s.command()
	}
	for _, f := range s.files {
		if f.name != "-" {
			w.name(plainWord(f.name), f.write, "script of sed")
		}
	}
	if s.bad || s.runs {
		w.result.unknown(ReasonScript, c.text)
	}
	for _, command := range s.commands {
		w.text(plainWord(command), c)
	}
}

// sedScript reads a script of GNU sed, a superset of POSIX sed's.
type sedScript struct {
	text string
	at   int

	files    []scriptFile // named by r, R, w, W and the flag w of s
	commands []string     // given to e
	runs     bool         // e without a command, or the flag e of s
	bad      bool         // something wasn't understood
}

type scriptFile struct {
	name  string
	write bool
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
		s.files = append(s.files, scriptFile{s.line(), c == 'w' || c == 'W'})
	case 'e':
		s.execution()
	case 's':
		s.substitution()
	case 'y':
		s.delimited(2)
	default:
		s.bad = true
	}
}

// addresses reads "1", "$", "/re/", "\,re,", "1~2" and the like, and pairs.
func (s *sedScript) addresses() {
	for s.at < len(s.text) && !s.bad {
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
		s.bad = true
		return
	}
	for n > 0 {
		switch c := s.next(); c {
		case end:
			n--
		case '\\':
			if s.next() == 0 {
				s.bad = true
			}
		case 0:
			s.bad = true
		}
		if s.bad {
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
		s.runs = true
		return
	}
	s.commands = append(s.commands, command)
}

// substitution reads s with its flags.
func (s *sedScript) substitution() {
	s.delimited(2)
	for !s.bad {
		switch c := s.peek(); {
		case c == 'e':
			s.at++
			s.runs = true
		case c == 'w':
			s.at++
			s.skip(" \t")
			s.files = append(s.files, scriptFile{s.line(), true})
			return
		case c >= '0' && c <= '9' || strings.IndexByte("gpiIMm", c) >= 0 && c != 0:
			s.at++
		case c == 0 || strings.IndexByte(" \t\n;}#", c) >= 0:
			return
		default:
			s.bad = true
		}
	}
}
