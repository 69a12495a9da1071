package program

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseMake reports settings of the shell on make's command line. The commands
// that it runs are in files.
func parseMake(e *effect.List, c effect.Call, d program) {
	p := word.ParseOptions(d.options, c.Args(), false)
	managerOptions(e, p, c, true)
	for _, x := range p.Operands {
		name, _, ok := x.Cut("=")
		switch name.Text = strings.TrimRight(name.Text, ":?+!"); {
		case ok && (name.Text == "SHELL" || name.Text == ".SHELLFLAGS" || name.Text == "MAKEFLAGS" || name.Text == "GNUMAKEFLAGS"), !x.Literal():
			e.Unknown(effect.ReasonSetting)
		}
	}
	if c.More {
		e.Unknown(effect.ReasonOption)
	}
}

// parseGo reports where the go command writes and which programs it runs.
func parseGo(e *effect.List, c effect.Call, d program) {
	checkSubcommand(e, c)
	args, sub := c.Args(), ""
	for len(args) > 0 {
		o, rest, ok := goOption(d.options, args)
		if !ok {
			sub, args = args[0].Text, args[1:]
			break
		}
		goFlag(e, o, c)
		args = rest
	}
	for len(args) > 0 {
		o, rest, ok := goOption(d.options, args)
		switch {
		case ok:
			goFlag(e, o, c)
			if sub == "env" && o.Name == "-w" || o.Name == "-ldflags" && strings.Contains(o.Value.Text, "-extld") {
				e.Unknown(effect.ReasonSetting)
			}
			args = rest
		case sub == "run" || sub == "tool": // the rest is for the program
			goRuns(e, args, c)
			return
		case args[0].Is("-args"):
			return
		default:
			args = args[1:]
		}
	}
}

// goRuns analyzes the program of go run and go tool: that of another module is
// known by the last element of its path.
func goRuns(e *effect.List, words []word.Word, c effect.Call) {
	first, _, _ := words[0].Cut("@")
	if name := path.Base(first.Text); first.Fixed() && !strings.HasPrefix(first.Text, ".") && !strings.HasSuffix(name, ".go") {
		e.Packaged(true)
		runWrapped(e, c, wrapper{}, slices.Concat([]word.Word{words[0].Renamed(name)}, words[1:]))
		e.Packaged(false)
	}
}

// parsePython finds what Python runs: the program of -m is known by the name of its module.
func parsePython(e *effect.List, c effect.Call, d program) {
	args := c.Args()
	p := word.ParseOptions(d.options, args, true)
	i := slices.IndexFunc(p.Options, func(o word.Option) bool { return o.Name == "-m" && o.Given })
	if j := slices.IndexFunc(p.Options, func(o word.Option) bool { return o.Name == "-c" }); j >= 0 && j < i {
		i = -1 // it is the script's
	}
	switch {
	case i >= 0 && p.Options[i].Value.Fixed(): // what follows is the program's
		module, _, _ := p.Options[i].Value.Cut(".")
		rest := args[slices.IndexFunc(args, func(x word.Word) bool {
			return x.To >= p.Options[i].Value.To && strings.HasSuffix(x.Text, p.Options[i].Value.Text)
		})+1:]
		e.Packaged(true)
		runWrapped(e, c, wrapper{}, slices.Concat([]word.Word{p.Options[i].Value.Renamed(module.Text)}, rest))
		e.Packaged(false)
	case i >= 0:
		e.Unknown(effect.ReasonCommand)
	default:
		runUnknown(e, c)
	}
}

// goFlag reports an option of go.
func goFlag(e *effect.List, o word.Option, c effect.Call) {
	managerOptions(e, word.Parsed{Options: []word.Option{o}}, c, false)
}

// goOption reads one option of go, false if the first word is not an option.
func goOption(options string, args []word.Word) (o word.Option, rest []word.Word, ok bool) {
	x := args[0]
	if !x.Starts("-") || len(x.Text) < 2 || x.Is("--") || x.Is("-args") || x.Is("--args") {
		return o, nil, false
	}
	if x.Starts("--") {
		x = x.After(1)
	}
	head, tail, equals := x.Cut("=")
	o = word.Option{Name: head.Text, Value: tail, Given: equals}
	if name, mark, known := word.Lookup(options, head.Text); known && name == head.Text {
		o.Mark, o.Known = mark, true
	}
	rest = args[1:]
	if !equals && word.HasValue(o.Mark) && len(rest) > 0 {
		o.Value, o.Given, rest = rest[0], true, rest[1:]
	}
	return o, rest, true
}
