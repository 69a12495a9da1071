package program

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseFind reports the files of find: where it searches, and what its expression does
// with the files that it finds.
func parseFind(e *effect.List, c effect.Call, _ program) {
	starts, expression := findStarts(e, c)
	if c.More {
		e.Unknown(effect.ReasonOption)
	}
	for i := 0; i < len(expression); i++ {
		x := expression[i]
		if !x.Literal() {
			e.Unknown(effect.ReasonOption)
			continue
		}
		switch x.Text {
		case "-delete":
			for _, s := range starts {
				e.Use(s, true, "-delete of find")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			i += findExec(e, c, starts, expression[i:])
		default:
			i += findTest(e, expression[i:])
		}
	}
}

// findStarts separates where find searches from its expression.
func findStarts(e *effect.List, c effect.Call) (starts, expression []word.Word) {
	args := c.Args()
	for len(args) > 0 && (args[0].Is("-H") || args[0].Is("-L") || args[0].Is("-P") || args[0].Is("-D") || args[0].Starts("-O")) {
		if args[0].Is("-D") && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	end := slices.IndexFunc(args, func(x word.Word) bool {
		return x.Starts("-") && len(x.Text) > 1 || x.Is("(") || x.Is(")") || x.Is("!") || x.Is(",")
	})
	if end < 0 {
		end = len(args)
	}
	starts = args[:end]
	for _, s := range starts {
		if _, known := word.Home(s); !known && s.Expansion() == 0 {
			e.Unknown(effect.ReasonOption)
		}
		e.Use(s, false, "argument of find")
	}
	if len(starts) == 0 {
		starts = []word.Word{word.Plain(".")}
	}
	return starts, args[end:]
}

// findTest analyzes one test or action that runs nothing, and returns how many
// values it has.
func findTest(e *effect.List, words []word.Word) int {
	name := words[0].Text
	n, use := findValues(name)
	if len(words) <= n {
		return len(words) - 1
	}
	for _, v := range words[1 : n+1] {
		if v.Splits() {
			e.Unknown(effect.ReasonOption) // it may bring more of an expression
		}
	}
	switch why := name + " of find"; use {
	case word.MarkReads:
		e.Use(words[1], false, why)
	case word.MarkWrites:
		e.Use(words[1], true, why)
	case word.MarkHides:
		e.Use(words[1], false, why)
		e.UnknownPath(words[1].Text, false)
	}
	return n
}

// findValues returns how many values a test or action has, and what
// the first one is.
func findValues(name string) (n int, use byte) {
	switch name {
	case "-fprint", "-fprint0", "-fls":
		return 1, word.MarkWrites
	case "-fprintf":
		return 2, word.MarkWrites
	case "-files0-from":
		return 1, word.MarkHides
	case "-samefile", "-anewer", "-cnewer":
		return 1, word.MarkReads
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
		"-type", "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-perm", "-user", "-group",
		"-uid", "-gid", "-links", "-inum", "-maxdepth", "-mindepth", "-printf", "-fstype", "-regextype", "-used", "-context":
		return 1, word.MarkValue
	}
	if strings.HasPrefix(name, "-newer") {
		return 1, word.MarkReads
	}
	return 0, word.MarkFlag
}

// findExec analyzes the command that find runs, and returns the number of its
// words. {} in it is a file below one of the starting points.
func findExec(e *effect.List, c effect.Call, starts, words []word.Word) int {
	name := words[0].Text
	words = words[1:]
	end := slices.IndexFunc(words, func(x word.Word) bool { return x.Is(";") })
	if plus := slices.IndexFunc(words, func(x word.Word) bool { return x.Is("+") }); plus > 0 && (end < 0 || plus < end) && words[plus-1].Is("{}") {
		end = plus
	}
	if end < 0 {
		end = len(words)
	}
	if slices.ContainsFunc(words[:end], func(x word.Word) bool { return !x.Literal() }) {
		e.Unknown(effect.ReasonOption) // it may be what ends the command
	}
	e.RunFor(starts, strings.HasSuffix(name, "dir"), effect.Call{Words: word.Substitute(words[:end], "{}", word.Match), More: c.More, NoInput: true})
	return min(end+1, len(words))
}

// parseFd reports the directories of fd and the command after -x or -X.
func parseFd(e *effect.List, c effect.Call, d program) {
	args := c.Args()
	run := slices.IndexFunc(args, func(x word.Word) bool {
		return x.Is("-x") || x.Is("-X") || x.Is("--exec") || x.Is("--exec-batch")
	})
	search := args
	if run >= 0 {
		search = args[:run]
	}
	p := word.ParseOptions(d.options, search, false)
	optionEffects(e, p, c)
	enterOptions(e, p)
	for _, o := range p.Options {
		if !o.Known && (strings.HasPrefix(o.Name, "-x") || strings.HasPrefix(o.Name, "-X") || strings.HasPrefix(o.Name, "--e")) {
			e.Unknown(effect.ReasonOption)
		}
	}
	starts := p.Operands[min(1, len(p.Operands)):]
	for _, s := range starts {
		e.Use(s, false, "argument of fd")
	}
	if run < 0 {
		return
	}
	if len(starts) == 0 {
		starts = []word.Word{word.Plain(".")}
	}
	words := args[run+1:]
	if end := slices.IndexFunc(words, func(x word.Word) bool { return x.Is(";") }); end >= 0 {
		words = words[:end]
	}
	e.RunFor(starts, false, effect.Call{
		Words: word.Substitute(words, "{}", word.Match), NoInput: true,
		More: !slices.ContainsFunc(words, func(x word.Word) bool { return strings.Contains(x.Text, "{") }),
	})
}
