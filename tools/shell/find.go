package shell

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseFind reports the files of find: where it searches, and what its expression does
// with the files that it finds.
func parseFind(w *walker, c call, _ program) {
	starts, expression := findStarts(w, c)
	if c.more {
		w.result.unknown(effect.ReasonOption, c.text)
	}
	for i := 0; i < len(expression); i++ {
		x := expression[i]
		if !x.Literal() {
			w.result.unknown(effect.ReasonOption, c.text)
			continue
		}
		switch x.Text {
		case "-delete":
			for _, s := range starts {
				w.name(s, true, "-delete of find")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			i += findExec(w, c, starts, expression[i:])
		default:
			i += findTest(w, c, expression[i:])
		}
	}
}

// findStarts separates where find searches from its expression.
func findStarts(w *walker, c call) (starts, expression []word.Word) {
	args := c.args()
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
			w.result.unknown(effect.ReasonOption, c.text)
		}
		w.name(s, false, "argument of find")
	}
	if len(starts) == 0 {
		starts = []word.Word{word.Plain(".")}
	}
	return starts, args[end:]
}

// findTest analyzes one test or action that runs nothing, and returns how many
// values it has.
func findTest(w *walker, c call, words []word.Word) int {
	name := words[0].Text
	n, use := findValues(name)
	if len(words) <= n {
		return len(words) - 1
	}
	for _, v := range words[1 : n+1] {
		if v.Splits() {
			w.result.unknown(effect.ReasonOption, c.text) // it may bring more of an expression
		}
	}
	switch why := name + " of find"; use {
	case word.MarkReads:
		w.name(words[1], false, why)
	case word.MarkWrites:
		w.name(words[1], true, why)
	case word.MarkHides:
		w.name(words[1], false, why)
		w.result.unknownPath(words[1].Text, false)
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
func findExec(w *walker, c call, starts, words []word.Word) int {
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
		w.result.unknown(effect.ReasonOption, c.text) // it may be what ends the command
	}
	onMatches(w, starts, strings.HasSuffix(name, "dir"), func() {
		inner := w.inner(c, word.Substitute(words[:end], "{}", word.Match))
		inner.input = nil
		w.invoke(inner)
	})
	return min(end+1, len(words))
}

// onMatches walks a command that is run for the files below some directories:
// where the search starts, or in those directories themselves.
func onMatches(w *walker, starts []word.Word, inside bool, f func()) {
	at, matches := w.at, w.matches
	w.matches = starts
	if inside {
		var reached places
		for _, s := range starts {
			w.at = at
			enterDir(w, s)
			reached = reached.or(w.at)
		}
		w.at, w.matches = reached, []word.Word{word.Plain(".")}
	}
	f()
	w.at, w.matches = at, matches
}

// parseFd reports the directories of fd and the command after -x or -X.
func parseFd(w *walker, c call, d program) {
	args := c.args()
	run := slices.IndexFunc(args, func(x word.Word) bool {
		return x.Is("-x") || x.Is("-X") || x.Is("--exec") || x.Is("--exec-batch")
	})
	search := args
	if run >= 0 {
		search = args[:run]
	}
	p := word.ParseOptions(d.options, search, false)
	optionEffects(w, p, c)
	enterOptions(w, p)
	for _, o := range p.Options {
		if !o.Known && (strings.HasPrefix(o.Name, "-x") || strings.HasPrefix(o.Name, "-X") || strings.HasPrefix(o.Name, "--e")) {
			w.result.unknown(effect.ReasonOption, c.text)
		}
	}
	starts := p.Operands[min(1, len(p.Operands)):]
	for _, s := range starts {
		w.name(s, false, "argument of fd")
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
	onMatches(w, starts, false, func() {
		inner := w.inner(c, word.Substitute(words, "{}", word.Match))
		inner.input = nil
		inner.more = !slices.ContainsFunc(words, func(x word.Word) bool { return strings.Contains(x.Text, "{") })
		w.invoke(inner)
	})
}
