package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// shellCall is a shell's arguments after parsing.
type shellCall struct {
	command  bool        // -c: the first operand is a script
	stdin    bool        // -s: the script is on its standard input
	idle     bool        // it only prints its help or version
	startup  []word.Word // files given as its startup files
	settings []word.Word // options set by name
	operands []word.Word
}

// parseShell reads the arguments of a shell. An expansion among the options
// counts as an operand.
func parseShell(args []word.Word) shellCall {
	var s shellCall
	for len(args) > 0 {
		x := args[0]
		if !x.Literal() || x.Text == "" || x.Text[0] != '-' && x.Text[0] != '+' {
			break
		}
		args = args[1:]
		if x.Text == "-" || x.Text == "--" {
			break
		}
		if strings.HasPrefix(x.Text, "--") || isLongOption(x.Text[1:]) {
			args = s.long(x, args)
			continue
		}
		args = s.short(x, args)
	}
	s.operands = args
	return s
}

// isLongOption reports whether a name is a long option of bash, which accepts
// them with one dash too.
func isLongOption(name string) bool {
	switch name {
	case "debug", "debugger", "dump-po-strings", "dump-strings", "help", "init-file", "login", "noediting", "noprofile", "norc", "posix",
		"pretty-print", "protected", "rcfile", "restricted", "verbose", "version", "wordexp":
		return true
	}
	return false
}

func (s *shellCall) short(x word.Word, args []word.Word) []word.Word {
	for _, letter := range x.Text[1:] {
		switch letter {
		case 'c':
			s.command = s.command || x.Text[0] == '-'
		case 's':
			s.stdin = true
		case 'o', 'O':
			if len(args) > 0 {
				s.settings = append(s.settings, args[0])
				args = args[1:]
			}
		}
	}
	return args
}

func (s *shellCall) long(x word.Word, args []word.Word) []word.Word {
	switch name, tail, equals := x.Cut("="); strings.TrimLeft(name.Text, "-") {
	case "rcfile", "init-file":
		if equals {
			s.startup = append(s.startup, tail)
		} else if len(args) > 0 {
			s.startup = append(s.startup, args[0])
			args = args[1:]
		}
	case "version", "help":
		s.idle = true
	case "command": // fish
		s.command = true
	}
	return args
}

// runShell analyzes what a shell runs.
func runShell(w *walker, c call) {
	s := parseShell(c.args())
	for _, x := range s.startup {
		w.result.unknown(effect.ReasonFile, c.text)
		w.name(x, false, "startup file of "+c.words[0].Text)
	}
	for _, x := range s.settings {
		shellOptions(w, call{words: []word.Word{word.Plain("shopt"), x}, text: c.text})
	}
	switch {
	case s.idle:
	case s.command && len(s.operands) > 0:
		w.text(s.operands[0], c)
	case s.command && !c.more:
	case s.command:
		w.result.unknown(effect.ReasonScript, c.text)
	case s.stdin || len(s.operands) == 0:
		shellInput(w, c)
	default:
		shellFile(w, s.operands[0], c)
		if first := s.operands[0]; first.Fixed() && !strings.Contains(first.Text, "/") { // it is looked up in PATH, too
			w.frame.inside++
			w.record(call{words: s.operands, text: w.frame.textOf(s.operands), more: c.more})
			w.frame.inside--
		}
	}
}

// shellInput analyzes a shell that reads its commands from standard input: they are
// known only from a here-document.
func shellInput(w *walker, c call) {
	if c.input == nil || !c.input.Literal() || c.more {
		w.result.unknown(effect.ReasonInput, c.text)
	}
	if c.input != nil {
		w.text(*c.input, c)
	}
}

// shellFile analyzes a shell that runs a file.
func shellFile(w *walker, x word.Word, c call) {
	known, literal := word.Home(x)
	switch {
	case x.Kinds != "" && strings.Trim(x.Kinds, string(word.Channel)) == "",
		strings.HasPrefix(x.Text, "/dev/") || strings.HasPrefix(x.Text, "/proc/"):
		w.result.unknown(effect.ReasonInput, c.text)
	case !literal || x.Wildcard() >= 0:
		w.result.unknown(effect.ReasonScript, c.text)
	case hasMeaning(x.Text):
		w.result.unknown(effect.ReasonFile, c.text) // a shell looks up its script in PATH too
		fallthrough
	default:
		w.result.run = append(w.result.run, execution{path: word.Spelled(known), at: w.at, text: c.text})
	}
	w.name(x, false, "script of "+c.words[0].Text)
}
