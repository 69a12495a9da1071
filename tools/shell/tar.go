package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseTar reads or writes an archive, and the files in it.
func parseTar(w *walker, c call, d program) {
	p := word.ParseOptions(d.options, oldTarOptions(d.options, c.args()), false)
	before := w.at
	defer func() { w.at = before }()
	optionEffects(w, p, c)
	extracts := p.Has("-x --extract --get")
	creates := p.Has("-c -r -u -A --create --append --update --catenate --concatenate --delete")
	for _, o := range p.Options {
		switch {
		case o.Name == "-f" || o.Name == "--file":
			tarArchive(w, o.Value, creates, c)
		case o.Name == "--one-top-level" && o.Given:
			w.name(o.Value, true, "--one-top-level of tar")
		}
	}
	enterOptions(w, p)
	switch {
	case extracts:
		tarExtracts(w, p, c)
	case creates:
		after := w.at
		for _, x := range p.Operands { // -C counts for what follows it only
			w.at = before
			w.name(x, p.Has("--remove-files"), "argument of tar")
			w.at = after
			w.name(x, p.Has("--remove-files"), "argument of tar")
		}
	}
	if c.more {
		w.result.unknown(effect.ReasonOption, c.text)
	}
}

// tarArchive reports the archive; for one on another machine tar runs a
// program.
func tarArchive(w *walker, x word.Word, write bool, c call) {
	switch {
	case x.Is("-"):
	case isRemote(x):
		w.result.unknown(effect.ReasonNetwork, c.text)
	default:
		w.name(x, write, "-f of tar")
	}
}

// tarExtracts reports where an archive is unpacked. Its names can lead
// anywhere with -P.
func tarExtracts(w *walker, p word.Parsed, c call) {
	if p.Has("-O --to-stdout --to-command") {
		return
	}
	if p.Has("-P --absolute-names") {
		w.result.unknownPath(c.text, true)
	}
	w.access(".", true, "output of tar")
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
