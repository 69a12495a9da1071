package program

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseTar reads or writes an archive, and the files in it.
func parseTar(e *effect.List, c effect.Call, d program) {
	p := word.ParseOptions(d.options, oldTarOptions(d.options, c.Args()), false)
	optionEffects(e, p, c)
	extracts := p.Has("-x --extract --get")
	creates := p.Has("-c -r -u -A --create --append --update --catenate --concatenate --delete")
	for _, o := range p.Options {
		switch {
		case o.Name == "-f" || o.Name == "--file":
			tarArchive(e, o.Value, creates)
		case o.Name == "--one-top-level" && o.Given:
			e.Use(o.Value, true, "--one-top-level of tar")
		}
	}
	enterOptions(e, p)
	switch {
	case extracts:
		tarExtracts(e, p)
	case creates:
		for _, x := range p.Operands { // -C counts for what follows it only
			e.UseFirst(x, p.Has("--remove-files"), "argument of tar")
			e.Use(x, p.Has("--remove-files"), "argument of tar")
		}
	}
	if c.More {
		e.Unknown(effect.ReasonOption)
	}
}

// tarArchive reports the archive; for one on another machine tar runs a
// program.
func tarArchive(e *effect.List, x word.Word, write bool) {
	switch {
	case x.Is("-"):
	case isRemote(x):
		e.Unknown(effect.ReasonNetwork)
	default:
		e.Use(x, write, "-f of tar")
	}
}

// tarExtracts reports where an archive is unpacked. Its names can lead
// anywhere with -P.
func tarExtracts(e *effect.List, p word.Parsed) {
	if p.Has("-O --to-stdout --to-command") {
		return
	}
	if p.Has("-P --absolute-names") {
		e.UnknownPath("", true)
	}
	e.UsePath(".", true, "output of tar")
}

// oldTarOptions rewrites options without a dash: "tar xf a" is "tar -x -f a".
func oldTarOptions(options string, args []word.Word) []word.Word {
	if len(args) == 0 || args[0].Text == "" || !args[0].Literal() || strings.HasPrefix(args[0].Text, "-") {
		return args
	}
	letters, rest := args[0].Text, args[1:]
	var out []word.Word
	for _, l := range letters {
		o := word.Plain("-" + string(l))
		out = append(out, o)
		if _, mark, _ := word.Lookup(options, o.Text); word.HasValue(mark) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}
