package program

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// subcommand describes how a subcommand of git reads its arguments.
type subcommand struct {
	options    string // in the notation of package word
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

// PlainGit returns the words of a git command without the options before its
// subcommand.
func PlainGit(words []word.Word) []word.Word {
	p := word.ParseOptions(programTable().programs["git"].options, words[1:], true)
	if len(p.Operands) == 0 {
		return words
	}
	return slices.Concat(words[:1], p.Operands)
}

// parseGit analyzes git, whose options can run programs and write files in many
// ways.
func parseGit(e *effect.List, c effect.Call, d program) {
	p := word.ParseOptions(d.options, c.Args(), true)
	for _, o := range p.Options {
		gitGlobal(e, o, p)
	}
	if len(p.Operands) == 0 {
		if c.More {
			e.Unknown(effect.ReasonCommand)
		}
		return
	}
	sub := p.Operands[0]
	switch {
	case !sub.Fixed():
		e.Unknown(effect.ReasonCommand)
	default:
		if s, ok := programTable().git[sub.Text]; ok {
			gitCommand(e, sub.Text, s, p.Operands[1:], c)
			return
		}
		e.Unknown(effect.ReasonAlias)
	}
}

// gitGlobal analyzes one option before the subcommand.
func gitGlobal(e *effect.List, o word.Option, p word.Parsed) {
	writes := len(p.Operands) > 0 && !programTable().git[p.Operands[0].Text].looks
	switch {
	case !o.Known:
		e.Unknown(effect.ReasonOption)
	case o.Name == "-c":
		gitSetting(e, o.Value)
	case o.Name == "-C":
		e.Use(o.Value, writes, "-C of git")
		e.Enter(o.Value)
	case o.Name == "--git-dir" || o.Name == "--work-tree":
		e.Use(o.Value, writes, o.Name+" of git")
	case o.Mark == word.MarkHides && o.Given:
		e.Unknown(effect.ReasonSetting)
	}
}

// gitSetting analyzes KEY=VALUE as -c has it.
func gitSetting(e *effect.List, x word.Word) {
	key, value, _ := x.Cut("=")
	if !key.Literal() || !programTable().harmlessSettings.has(strings.ToLower(key.Text)) && (!startsGitProgram(key.Text) || !harmless(value)) {
		e.Unknown(effect.ReasonSetting)
	}
	command, ok := strings.CutPrefix(value.Text, "!")
	if ok && strings.HasPrefix(strings.ToLower(key.Text), "alias.") {
		e.RunText(value.After(len(value.Text) - len(command)))
	}
}

func startsGitProgram(key string) bool {
	key = strings.ToLower(key)
	return key == "core.pager" || key == "core.editor" || key == "sequence.editor" || strings.HasPrefix(key, "pager.")
}

// gitCommand analyzes a subcommand with its arguments.
func gitCommand(e *effect.List, name string, sub subcommand, args []word.Word, c effect.Call) {
	if sub.unknowable {
		e.Unknown(effect.ReasonScript)
	}
	p := word.ParseOptions(sub.options, args, sub.first)
	named := c
	named.Words = []word.Word{word.Plain("git " + name)}
	optionEffects(e, p, named)
	switch name {
	case "bisect":
		gitRuns(e, "run", p.Operands, c, false)
	case "submodule":
		gitRuns(e, "foreach", p.Operands, c, true)
	case "config":
		gitConfig(e, p, c)
		return
	case "checkout":
		gitCheckout(e, p, args)
	}
	if sub.addresses {
		gitAddresses(e, p)
	}
	gitOperands(e, name, sub, p, args, c)
	if sub.changesGit(p) {
		e.UsePath(sub.changes, true, "argument of git "+name)
	}
}

// gitCheckout reports what git checkout writes without "--": files after the
// branch, or instead of it.
func gitCheckout(e *effect.List, p word.Parsed, args []word.Word) {
	files := p.Operands
	switch {
	case slices.ContainsFunc(args, func(x word.Word) bool { return x.Is("--") }) || p.Has("-b -B --orphan --detach -t --track") || len(files) == 0:
		return
	case len(files) > 1:
		files = files[1:]
	case !looksLikeFile(files[0].Text):
		return
	}
	for _, x := range files {
		e.Use(x, true, "argument of git checkout")
	}
}

// looksLikeFile reports whether a name is more likely a file's than a branch's.
func looksLikeFile(name string) bool {
	ext := path.Ext(name)
	return strings.HasPrefix(name, ".") || len(ext) > 1 && len(ext) < 6 && strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// changesGit reports whether a subcommand changes files in .git beyond those of
// every commit: its settings, remotes, branches.
func (s subcommand) changesGit(p word.Parsed) bool {
	verb := ""
	if len(p.Operands) > 0 {
		verb = p.Operands[0].Text
	}
	switch {
	case s.changes == "" || len(p.Operands) < s.operands || s.unless != "" && hasWord(s.unless, verb):
		return false
	}
	return s.when == "" || hasWord(s.when, verb) || p.Has(s.when)
}

// gitOperands reports the operands that are certainly files: those after "--"
// and those that look like a path outside. A subcommand that changes files
// writes them.
func gitOperands(e *effect.List, name string, sub subcommand, p word.Parsed, args []word.Word, c effect.Call) {
	why, write := "argument of git "+name, sub.writes
	certain := len(p.Operands)
	if i := slices.IndexFunc(args, func(x word.Word) bool { return x.Is("--") }); i >= 0 {
		certain -= len(args) - i - 1
	}
	for i, x := range p.Operands {
		if i >= certain || looksLikePath(x) || sub.namesFile(i) {
			e.Use(x, write && !(name == "clone" && i == 0), why)
		}
	}
	switch {
	case name == "apply" || name == "am" || len(p.Operands) == 0 && (name == "clean" || name == "init") || name == "clone" && len(p.Operands) == 1:
		e.UsePath(".", true, "output of git "+name)
	case c.More && sub.namesFile(len(p.Operands)):
		e.UnknownPath("", write)
	}
}

// looksLikePath reports whether an operand can only be a path.
func looksLikePath(x word.Word) bool {
	for _, prefix := range []string{"/", "~", "./", "../", "$HOME", "${HOME}", "$PWD"} {
		if strings.HasPrefix(x.Text, prefix) {
			return true
		}
	}
	return x.Text == ".." || x.Text == "."
}

// namesFile reports whether operand i, from 0, is a file even without a "--"
// before it.
func (s subcommand) namesFile(i int) bool { return s.files && (s.file == 0 || s.file == i+1) }

// gitRuns analyzes "git bisect run" and "git submodule foreach".
func gitRuns(e *effect.List, verb string, operands []word.Word, c effect.Call, shell bool) {
	i := slices.IndexFunc(operands, func(x word.Word) bool { return x.Is(verb) })
	if i < 0 {
		if slices.ContainsFunc(operands, func(x word.Word) bool { return !x.Literal() }) {
			e.Unknown(effect.ReasonCommand)
		}
		return
	}
	p := word.ParseOptions("-q --quiet --recursive", operands[i+1:], true)
	runWrapped(e, c, wrapper{shell: shell && len(p.Operands) == 1}, p.Operands)
}

// gitConfig reports a setting that is changed, unless it is harmless.
func gitConfig(e *effect.List, p word.Parsed, c effect.Call) {
	operands := p.Operands
	if p.Has("--global") && len(operands) > 1 {
		e.UsePath("~/.gitconfig", true, "--global of git config")
	}
	if p.Has("--get --get-all --get-regexp --get-urlmatch --list -l --get-color --get-colorbool") || len(operands) > 0 && (operands[0].Is("get") || operands[0].Is("list")) {
		return
	}
	changes := p.Has("--unset --unset-all --remove-section --rename-section --edit -e") || len(operands) > 0 && operands[0].Is("unset")
	if len(operands) > 0 && (operands[0].Is("set") || operands[0].Is("unset") || operands[0].Is("edit")) {
		operands = operands[1:]
	}
	if len(operands) < 2 && !c.More && !changes {
		return
	}
	if !p.Has("--global --system -f --file") {
		e.UsePath(".git/config", true, "argument of git config")
	}
	if changes && len(operands) < 2 { // only removes
		return
	}
	if operands = operands[:min(2, len(operands))]; len(operands) < 2 {
		e.Unknown(effect.ReasonSetting)
		return
	}
	gitSetting(e, joinSetting(operands[0], operands[1]))
}

// joinSetting returns KEY=VALUE.
func joinSetting(key, value word.Word) word.Word {
	return word.Word{Text: key.Text + "=" + value.Text, Kinds: key.Kinds + string(word.Quoted) + value.Kinds, Braced: true}
}

// gitAddresses reports addresses that are commands, ext::CMD, and the settings
// of a clone.
func gitAddresses(e *effect.List, p word.Parsed) {
	for _, o := range p.Options {
		if o.Name == "-c" || o.Name == "--config" {
			gitSetting(e, o.Value)
		}
	}
	for _, x := range p.Operands {
		_, command, ok := x.Cut("::")
		if !ok || strings.Contains(strings.SplitN(x.Text, "::", 2)[0], "/") {
			continue
		}
		e.Unknown(effect.ReasonOption)
		if strings.HasPrefix(x.Text, "ext::") {
			e.RunText(command)
		}
	}
}
