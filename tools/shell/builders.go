package shell

import (
	"path"
	"slices"
	"strings"
)

// parseMake reports settings of the shell on make's command line. The commands
// that it runs are in files.
func parseMake(w *walker, c call, d program) {
	before := w.at
	defer func() { w.at = before }()
	p := parseOptions(d.options, c.args(), false)
	managerOptions(w, p, c, true)
	for _, x := range p.operands {
		name, _, ok := x.cut("=")
		switch name.text = strings.TrimRight(name.text, ":?+!"); {
		case ok && (name.text == "SHELL" || name.text == ".SHELLFLAGS" || name.text == "MAKEFLAGS" || name.text == "GNUMAKEFLAGS"), !x.literal():
			w.result.unknown(ReasonSetting, c.text)
		}
	}
	if c.more {
		w.result.unknown(ReasonOption, c.text)
	}
}

// parseGo reports where the go command writes and which programs it runs.
func parseGo(w *walker, c call, d program) {
	before := w.at
	defer func() { w.at = before }()
	checkSubcommand(w, c)
	args, sub := c.args(), ""
	for len(args) > 0 {
		o, rest, ok := goOption(d.options, args)
		if !ok {
			sub, args = args[0].text, args[1:]
			break
		}
		goFlag(w, o, c)
		args = rest
	}
	for len(args) > 0 {
		o, rest, ok := goOption(d.options, args)
		switch {
		case ok:
			goFlag(w, o, c)
			if sub == "env" && o.name == "-w" || o.name == "-ldflags" && strings.Contains(o.value.text, "-extld") {
				w.result.unknown(ReasonSetting, c.text)
			}
			args = rest
		case sub == "run" || sub == "tool": // the rest is for the program
			goRuns(w, args, c)
			return
		case args[0].is("-args"):
			return
		default:
			args = args[1:]
		}
	}
}

// goRuns analyzes the program of go run and go tool: that of another module is
// known by the last element of its path.
func goRuns(w *walker, words []word, c call) {
	first, _, _ := words[0].cut("@")
	if name := path.Base(first.text); first.fixed() && !strings.HasPrefix(first.text, ".") && !strings.HasSuffix(name, ".go") {
		w.frame.inside++
		runWrapped(w, c, wrapper{}, slices.Concat([]word{renamed(words[0], name)}, words[1:]))
		w.frame.inside--
	}
}

// parsePython finds what Python runs: the program of -m is known by the name of its module.
func parsePython(w *walker, c call, d program) {
	args := c.args()
	p := parseOptions(d.options, args, true)
	i := slices.IndexFunc(p.options, func(o option) bool { return o.name == "-m" && o.given })
	if j := slices.IndexFunc(p.options, func(o option) bool { return o.name == "-c" }); j >= 0 && j < i {
		i = -1 // it is the script's
	}
	switch {
	case i >= 0 && p.options[i].value.fixed(): // what follows is the program's
		module, _, _ := p.options[i].value.cut(".")
		rest := args[slices.IndexFunc(args, func(x word) bool {
			return x.to >= p.options[i].value.to && strings.HasSuffix(x.text, p.options[i].value.text)
		})+1:]
		w.frame.inside++
		runWrapped(w, c, wrapper{}, slices.Concat([]word{renamed(p.options[i].value, module.text)}, rest))
		w.frame.inside--
	case i >= 0:
		w.result.unknown(ReasonCommand, c.text)
	default:
		runUnknown(w, c)
	}
}

// goFlag reports an option of go.
func goFlag(w *walker, o option, c call) {
	managerOptions(w, parsed{options: []option{o}}, c, false)
}

// goOption reads one option of go, false if the first word is not an option.
func goOption(options string, args []word) (o option, rest []word, ok bool) {
	x := args[0]
	if !x.starts("-") || len(x.text) < 2 || x.is("--") || x.is("-args") || x.is("--args") {
		return o, nil, false
	}
	if x.starts("--") {
		x = x.after(1)
	}
	head, tail, equals := x.cut("=")
	o = option{name: head.text, value: tail, given: equals}
	if name, mark, known := lookup(options, head.text); known && name == head.text {
		o.mark, o.known = mark, true
	}
	rest = args[1:]
	if !equals && hasValue(o.mark) && len(rest) > 0 {
		o.value, o.given, rest = rest[0], true, rest[1:]
	}
	return o, rest, true
}
