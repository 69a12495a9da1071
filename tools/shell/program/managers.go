package program

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// manager describes a program whose subcommands run other programs: package
// managers, tools that choose a version of a language, build tools.
type manager struct {
	options string             // before and, unless first is set, after the subcommand
	first   bool               // options end at the subcommand
	runs    map[string]wrapper // subcommands that run a command; their options join those above
	scripts string             // subcommands that run a script of the project or else a command
	own     string             // its other subcommands; of what isn't one of them it makes a script or command
	behind  bool               // the command follows "--"
}

// manage analyzes a program of that kind.
func manage(e *effect.List, c effect.Call, m manager) {
	e.Packaged(true)
	p := word.ParseOptions(m.options, c.Args(), true)
	managerOptions(e, p, c, true)
	words := p.Operands
	if _, ok := m.runs[""]; ok {
		runManaged(e, c, words)
		return
	}
	if len(words) == 0 {
		if c.More {
			e.Unknown(effect.ReasonCommand)
		}
		return
	}
	sub := words[0]
	if !sub.Fixed() {
		e.Unknown(effect.ReasonCommand)
		return
	}
	name, rest := sub.Text, words[1:]
	if len(rest) > 0 && rest[0].Literal() {
		if _, ok := m.runs[name+" "+rest[0].Text]; ok {
			name, rest = name+" "+rest[0].Text, rest[1:]
		}
	}
	r, runs := m.runs[name]
	switch {
	case runs:
		managed(e, c, m, r, rest)
	case hasWord(m.scripts, name):
		q := word.ParseOptions(m.options, rest, true)
		managerOptions(e, q, c, true)
		runManaged(e, c, q.Operands)
	case m.own != "" && !hasWord(m.own, name):
		runManaged(e, c, words)
	default:
		managerOptions(e, word.ParseOptions(m.options, rest, m.first), c, false)
	}
}

// managed analyzes the command behind a subcommand that runs it.
func managed(e *effect.List, c effect.Call, m manager, r wrapper, words []word.Word) {
	p := word.ParseOptions(r.options+" "+m.options, words, !r.permute)
	managerOptions(e, p, c, true)
	words = operandsBefore(e, r, p.Operands, c)
	if i := slices.IndexFunc(words, func(x word.Word) bool { return x.Is("--") }); m.behind && i >= 0 {
		words = words[i+1:]
	}
	runManaged(e, c, words)
}

// runManaged analyzes the words of a command that a package manager runs, which may
// name a package and its version instead of a program.
func runManaged(e *effect.List, c effect.Call, words []word.Word) {
	if len(words) == 0 {
		if c.More {
			e.Unknown(effect.ReasonCommand)
		}
		return
	}
	first := words[0]
	if i := strings.LastIndexByte(first.Text, '@'); i > 0 && first.Literal() {
		words = slices.Concat([]word.Word{first.Renamed(first.Text[:i])}, words[1:])
	}
	runWrapped(e, c, wrapper{}, words)
}

// managerOptions reports options, and changes to the directories that they name.
// Where a command stands behind them, one that isn't known makes it unknown.
func managerOptions(e *effect.List, p word.Parsed, c effect.Call, runs bool) {
	for _, o := range p.Options {
		if !o.Known && runs {
			e.Unknown(effect.ReasonOption)
		}
	}
	for _, o := range p.Options {
		if o.Mark == word.MarkEnters && o.Given {
			beyond(e, o.Value, o.Name+" of "+c.Name())
		}
	}
	optionEffects(e, p, c)
	enterOptions(e, p)
}

// beyond reports a directory in which a program works: one outside is written; one
// inside counts as cd does, which only reads it.
func beyond(e *effect.List, x word.Word, why string) {
	if _, known := word.Home(x); known && (word.IsRooted(x.Text) || strings.HasPrefix(path.Clean(x.Text), "..")) {
		e.Use(x, true, why)
	}
}

func hasWord(list, name string) bool {
	for s := range strings.FieldsSeq(list) {
		if s == name {
			return true
		}
	}
	return false
}
