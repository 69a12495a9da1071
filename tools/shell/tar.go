package shell

import "strings"

// parseTar reads or writes an archive, and the files in it.
func parseTar(w *walker, c call, d program) {
	p := parseOptions(d.options, oldTarOptions(d.options, c.args()), false)
	before := w.at
	defer func() { w.at = before }()
	optionEffects(w, p, c)
	extracts := p.has("-x --extract --get")
	creates := p.has("-c -r -u -A --create --append --update --catenate --concatenate --delete")
	for _, o := range p.options {
		switch {
		case o.name == "-f" || o.name == "--file":
			tarArchive(w, o.value, creates, c)
		case o.name == "--one-top-level" && o.given:
			w.name(o.value, true, "--one-top-level of tar")
		}
	}
	enterOptions(w, p)
	switch {
	case extracts:
		tarExtracts(w, p, c)
	case creates:
		after := w.at
		for _, x := range p.operands { // -C counts for what follows it only
			w.at = before
			w.name(x, p.has("--remove-files"), "argument of tar")
			w.at = after
			w.name(x, p.has("--remove-files"), "argument of tar")
		}
	}
	if c.more {
		w.result.unknown(ReasonOption, c.text)
	}
}

// tarArchive reports the archive; for one on another machine tar runs a
// program.
func tarArchive(w *walker, x word, write bool, c call) {
	switch {
	case x.is("-"):
	case isRemote(x):
		w.result.unknown(ReasonNetwork, c.text)
	default:
		w.name(x, write, "-f of tar")
	}
}

// tarExtracts reports where an archive is unpacked. Its names can lead
// anywhere with -P.
func tarExtracts(w *walker, p parsed, c call) {
	if p.has("-O --to-stdout --to-command") {
		return
	}
	if p.has("-P --absolute-names") {
		w.result.unknownPath(c.text, true)
	}
	w.access(".", true, "output of tar")
}

// oldTarOptions rewrites options without a dash: "tar xf a" is "tar -x -f a".
func oldTarOptions(options string, args []word) []word {
	if len(args) == 0 || args[0].text == "" || !args[0].literal() || strings.HasPrefix(args[0].text, "-") {
		return args
	}
	letters, rest := args[0].text, args[1:]
	var out []word
	for _, l := range letters {
		o := plainWord("-" + string(l))
		out = append(out, o)
		if _, mark, _ := lookup(options, o.text); hasValue(mark) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}
