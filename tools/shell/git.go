package shell

import (
	"path"
	"slices"
	"strings"
)

// subcommand describes how a subcommand of git reads its arguments.
type subcommand struct {
	options    string // in the notation of options.go
	first      bool   // options end at the first operand
	looks      bool   // it changes nothing
	files      bool   // operands are files
	file       int    // the one that is, from 1; 0 for all
	writes     bool   // it writes the files that it names
	addresses  bool   // operands may be addresses of repositories
	unknowable bool   // it runs programs that its arguments or settings name
	changes    string // a file in .git that it changes
	when       string // only with one of these
	unless     string // not with one of these
	operands   int    // only with so many operands
}

// gitPlain returns the words of a git command without the options before its
// subcommand.
func gitPlain(options string, words []word) []word {
	p := parseOptions(options, words[1:], true)
	if len(p.operands) == 0 {
		return words
	}
	return slices.Concat(words[:1], p.operands)
}

// parseGit analyzes git, whose options can run programs and write files in many
// ways.
func parseGit(w *walker, c call, d program) {
	before := w.at
	defer func() { w.at = before }()
	p := parseOptions(d.options, c.args(), true)
	for _, o := range p.options {
		gitGlobal(w, o, c, p)
	}
	if len(p.operands) == 0 {
		if c.more {
			w.result.unknown(ReasonCommand, c.text)
		}
		return
	}
	sub := p.operands[0]
	switch {
	case !sub.fixed():
		w.result.unknown(ReasonCommand, c.text)
	default:
		if s, ok := w.know.git[sub.text]; ok {
			gitCommand(w, sub.text, s, p.operands[1:], c)
			return
		}
		w.result.unknown(ReasonAlias, c.text)
	}
}

// gitGlobal analyzes one option before the subcommand.
func gitGlobal(w *walker, o option, c call, p parsed) {
	writes := len(p.operands) > 0 && !w.know.git[p.operands[0].text].looks
	switch {
	case !o.known:
		w.result.unknown(ReasonOption, c.text)
	case o.name == "-c":
		gitSetting(w, o.value, c)
	case o.name == "-C":
		w.name(o.value, writes, "-C of git")
		enterDir(w, o.value)
	case o.name == "--git-dir" || o.name == "--work-tree":
		w.name(o.value, writes, o.name+" of git")
	case o.mark == markHides && o.given:
		w.result.unknown(ReasonSetting, c.text)
	}
}

// gitSetting analyzes KEY=VALUE as -c has it.
func gitSetting(w *walker, x word, c call) {
	key, value, _ := x.cut("=")
	if !key.literal() || !w.know.harmlessSettings.has(strings.ToLower(key.text)) && (!startsGitProgram(key.text) || !harmless(value)) {
		w.result.unknown(ReasonSetting, c.text)
	}
	command, ok := strings.CutPrefix(value.text, "!")
	if ok && strings.HasPrefix(strings.ToLower(key.text), "alias.") {
		w.text(value.after(len(value.text)-len(command)), c)
	}
}

func startsGitProgram(key string) bool {
	key = strings.ToLower(key)
	return key == "core.pager" || key == "core.editor" || key == "sequence.editor" || strings.HasPrefix(key, "pager.")
}

// gitCommand analyzes a subcommand with its arguments.
func gitCommand(w *walker, name string, sub subcommand, args []word, c call) {
	if sub.unknowable {
		w.result.unknown(ReasonScript, c.text)
	}
	p := parseOptions(sub.options, args, sub.first)
	named := c
	named.words = []word{plainWord("git " + name)}
	optionEffects(w, p, named)
	switch name {
	case "bisect":
		gitRuns(w, "run", p.operands, c, false)
	case "submodule":
		gitRuns(w, "foreach", p.operands, c, true)
	case "config":
		gitConfig(w, p, c)
		return
	case "checkout":
		gitCheckout(w, p, args)
	}
	if sub.addresses {
		gitAddresses(w, p, c)
	}
	gitOperands(w, name, sub, p, args, c)
	if sub.changesGit(p) {
		w.access(sub.changes, true, "argument of git "+name)
	}
}

// gitCheckout reports what git checkout writes without "--": files after the
// branch, or instead of it.
func gitCheckout(w *walker, p parsed, args []word) {
	files := p.operands
	switch {
	case slices.ContainsFunc(args, func(x word) bool { return x.is("--") }) || p.has("-b -B --orphan --detach -t --track") || len(files) == 0:
		return
	case len(files) > 1:
		files = files[1:]
	case !looksLikeFile(files[0].text):
		return
	}
	for _, x := range files {
		w.name(x, true, "argument of git checkout")
	}
}

// looksLikeFile reports whether a name is more likely a file's than a branch's.
func looksLikeFile(name string) bool {
	ext := path.Ext(name)
	return strings.HasPrefix(name, ".") || len(ext) > 1 && len(ext) < 6 && strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// changesGit reports whether a subcommand changes files in .git beyond those of
// every commit: its settings, remotes, branches.
func (s subcommand) changesGit(p parsed) bool {
	verb := ""
	if len(p.operands) > 0 {
		verb = p.operands[0].text
	}
	switch {
	case s.changes == "" || len(p.operands) < s.operands || s.unless != "" && hasWord(s.unless, verb):
		return false
	}
	return s.when == "" || hasWord(s.when, verb) || p.has(s.when)
}

// gitOperands reports the operands that are certainly files: those after "--"
// and those that look like a path outside. A subcommand that changes files
// writes them.
func gitOperands(w *walker, name string, sub subcommand, p parsed, args []word, c call) {
	why, write := "argument of git "+name, sub.writes
	certain := len(p.operands)
	if i := slices.IndexFunc(args, func(x word) bool { return x.is("--") }); i >= 0 {
		certain -= len(args) - i - 1
	}
	for i, x := range p.operands {
		if i >= certain || looksLikePath(x) || sub.namesFile(i) {
			w.name(x, write && !(name == "clone" && i == 0), why)
		}
	}
	switch {
	case name == "apply" || name == "am" || len(p.operands) == 0 && (name == "clean" || name == "init") || name == "clone" && len(p.operands) == 1:
		w.access(".", true, "output of git "+name)
	case c.more && sub.namesFile(len(p.operands)):
		w.result.unknownPath(c.text, write)
	}
}

// looksLikePath reports whether an operand can only be a path.
func looksLikePath(x word) bool {
	for _, prefix := range []string{"/", "~", "./", "../", "$HOME", "${HOME}", "$PWD"} {
		if strings.HasPrefix(x.text, prefix) {
			return true
		}
	}
	return x.text == ".." || x.text == "."
}

// namesFile reports whether operand i, from 0, is a file even without a "--"
// before it.
func (s subcommand) namesFile(i int) bool { return s.files && (s.file == 0 || s.file == i+1) }

// gitRuns analyzes "git bisect run" and "git submodule foreach".
func gitRuns(w *walker, verb string, operands []word, c call, shell bool) {
	i := slices.IndexFunc(operands, func(x word) bool { return x.is(verb) })
	if i < 0 {
		if slices.ContainsFunc(operands, func(x word) bool { return !x.literal() }) {
			w.result.unknown(ReasonCommand, c.text)
		}
		return
	}
	p := parseOptions("-q --quiet --recursive", operands[i+1:], true)
	runWrapped(w, c, wrapper{shell: shell && len(p.operands) == 1}, p.operands)
}

// gitConfig reports a setting that is changed, unless it is harmless.
func gitConfig(w *walker, p parsed, c call) {
	operands := p.operands
	if p.has("--global") && len(operands) > 1 {
		w.access("~/.gitconfig", true, "--global of git config")
	}
	if p.has("--get --get-all --get-regexp --get-urlmatch --list -l --get-color --get-colorbool") || len(operands) > 0 && (operands[0].is("get") || operands[0].is("list")) {
		return
	}
	changes := p.has("--unset --unset-all --remove-section --rename-section --edit -e") || len(operands) > 0 && operands[0].is("unset")
	if len(operands) > 0 && (operands[0].is("set") || operands[0].is("unset") || operands[0].is("edit")) {
		operands = operands[1:]
	}
	if len(operands) < 2 && !c.more && !changes {
		return
	}
	if !p.has("--global --system -f --file") {
		w.access(".git/config", true, "argument of git config")
	}
	if changes && len(operands) < 2 { // only removes
		return
	}
	if operands = operands[:min(2, len(operands))]; len(operands) < 2 {
		w.result.unknown(ReasonSetting, c.text)
		return
	}
	gitSetting(w, joinSetting(operands[0], operands[1]), c)
}

// joinSetting returns KEY=VALUE.
func joinSetting(key, value word) word {
	return word{text: key.text + "=" + value.text, kinds: key.kinds + string(quoted) + value.kinds, braced: true}
}

// gitAddresses reports addresses that are commands, ext::CMD, and the settings
// of a clone.
func gitAddresses(w *walker, p parsed, c call) {
	for _, o := range p.options {
		if o.name == "-c" || o.name == "--config" {
			gitSetting(w, o.value, c)
		}
	}
	for _, x := range p.operands {
		_, command, ok := x.cut("::")
		if !ok || strings.Contains(strings.SplitN(x.text, "::", 2)[0], "/") {
			continue
		}
		w.result.unknown(ReasonOption, c.text)
		if strings.HasPrefix(x.text, "ext::") {
			w.text(command, c)
		}
	}
}
