package shell

import (
	"path"
	"slices"
	"strings"
)

// subcommand says how a subcommand of git reads its arguments.
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

// gitGlobals are git's options before the subcommand.
const gitGlobals = "-c= -C^ -h -p -P -v --attr-source: --bare --config-env% --exec-path% --git-dir> --glob-pathspecs --help --html-path --icase-pathspecs " +
	"--info-path --literal-pathspecs --man-path --namespace: --no-lazy-fetch --no-optional-locks --no-pager --no-replace-objects --noglob-pathspecs " +
	"--paginate --super-prefix: --version --work-tree>"

// gitPlain returns the words of a git command without the options before its
// subcommand.
func gitPlain(words []word) []word {
	p := parseOptions(gitGlobals, words[1:], true)
	if len(p.operands) == 0 {
		return words
	}
	return slices.Concat(words[:1], p.operands)
}

// git looks at git: its options can run programs and write files in many ways.
func (w *walker) git(c call) {
	before := w.at
	defer func() { w.at = before }()
	p := parseOptions(gitGlobals, c.args(), true)
	for _, o := range p.options {
		w.gitGlobal(o, c, p)
	}
	if len(p.operands) == 0 {
		if c.more {
			w.unknown(ReasonCommand, c.text)
		}
		return
	}
	sub := p.operands[0]
	switch {
	case !sub.fixed():
		w.unknown(ReasonCommand, c.text)
	case !isGitCommand(sub.text):
		w.unknown(ReasonAlias, c.text)
	default:
		w.gitCommand(sub.text, p.operands[1:], c)
	}
}

// gitGlobal looks at one option before the subcommand.
func (w *walker) gitGlobal(o option, c call, p parsed) {
	writes := len(p.operands) > 0 && !onlyLooks(p.operands[0].text)
	switch {
	case !o.known:
		w.unknown(ReasonOption, c.text)
	case o.name == "-c":
		w.gitSetting(o.value, c)
	case o.name == "-C":
		w.name(o.value, writes, "-C of git")
		w.enter(o.value)
	case o.name == "--git-dir" || o.name == "--work-tree":
		w.name(o.value, writes, o.name+" of git")
	case o.mark == markHides && o.given:
		w.unknown(ReasonSetting, c.text)
	}
}

// gitSetting looks at KEY=VALUE as -c has it.
func (w *walker) gitSetting(x word, c call) {
	key, value, _ := x.cut("=")
	if !key.literal() || !isHarmlessSetting(key.text) && (!startsGitProgram(key.text) || !harmless(value)) {
		w.unknown(ReasonSetting, c.text)
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

// isHarmlessSetting tells the settings of git that change neither what it runs
// nor which files it uses.
func isHarmlessSetting(key string) bool {
	key = strings.ToLower(key)
	for _, prefix := range []string{"user.", "author.", "committer.", "color.", "advice.", "column.", "log.", "status.", "blame.", "rerere.", "push.", "pull.", "fetch.", "i18n."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	switch key {
	case "apply.whitespace", "clone.defaultremotename", "commit.cleanup", "commit.gpgsign", "commit.verbose", "core.abbrev", "core.autocrlf", "core.eol",
		"core.filemode", "core.ignorecase", "core.longpaths", "core.precomposeunicode", "core.preloadindex", "core.quotepath", "core.safecrlf",
		"core.symlinks", "core.trustctime", "core.untrackedcache", "diff.algorithm", "diff.context", "diff.mnemonicprefix", "diff.noprefix",
		"diff.renamelimit", "diff.renames", "diff.submodule", "diff.wserrorhighlight", "format.pretty", "grep.linenumber", "grep.patterntype",
		"gc.auto", "http.postbuffer", "init.defaultbranch", "merge.conflictstyle", "merge.ff", "merge.renamelimit", "merge.renames", "protocol.version",
		"rebase.autosquash", "rebase.autostash", "rebase.updaterefs", "safe.directory", "tag.gpgsign", "tag.sort":
		return true
	}
	return false
}

// gitRun are options that run a program, and those that write a file, of every
// subcommand that isn't known to be without them.
const gitRun = "--exec% --ext-diff? --extcmd% --open-files-in-pager? --output> --receive-pack% --textconv? --upload-pack% "

// gitFiles are options of several subcommands that name files.
const gitFiles = "--contents< --exclude-from< --export-marks> --ignore-revs-file< --import-marks< --pathspec-from-file< "

// gitOptions describes the options of a subcommand.
func gitOptions(sub string) string {
	switch sub {
	case "archive":
		return "-o> --add-file< --format: --prefix: --remote% " + gitRun
	case "add", "branch", "checkout", "clean", "fetch-pack", "mv", "reset", "restore", "rm", "status", "switch", "worktree":
		return "-b: -B: -c: -C: -m: -s: --chmod: --conflict: --orphan: --source: --track* " + gitFiles
	case "apply":
		return "-C: -p: --build-fake-ancestor> --directory: --exclude: --include: --unsafe-paths% --whitespace: "
	case "bisect", "hash-object", "rev-parse", "submodule":
		return gitFiles
	case "bugreport", "diagnose":
		return "-o> -s: --output-directory> --suffix: "
	case "checkout-index":
		return "--prefix> "
	case "clone":
		return "-b: -c: -j: -o: -u% --branch: --config: --depth: --filter: --jobs: --origin: --reference< --reference-if-able< --separate-git-dir> " +
			"--shallow-since: --template% " + gitRun
	case "am", "cherry-pick", "commit", "merge", "notes", "revert", "tag":
		return "-c: -C: -F< -m: -s -S* -t< -u* -X: --author: --cleanup: --date: --file< --fixup: --message: --squash --strategy: --strategy-option: " +
			"--template< --trailer: " + gitFiles
	case "config":
		return "-e? -f> --add --all --blob: --default: --edit? --file> --get --get-all --get-color: --get-colorbool: --get-regexp --get-urlmatch --global -l --list --local --remove-section --rename-section --replace-all --system " +
			"--type: --unset --unset-all --worktree "
	case "difftool":
		return "-t: -x% --tool: " + gitRun
	case "format-patch":
		return "-o> -v: --output-directory> --signature-file< " + gitRun
	case "grep":
		return "-A: -B: -C: -e: -f< -m: -O? --max-count: --max-depth: --threads: " + gitRun
	case "ls-files", "check-ignore":
		return "-x: -X< --exclude: " + gitFiles
	case "init":
		return "-b: --initial-branch: --separate-git-dir> --template% "
	case "rebase":
		return "-s: -S* -x! -X: --exec! --onto: --strategy: --strategy-option: "
	case "stash":
		return "-m: --message: " + gitFiles + gitRun
	}
	return "-G: -L: -S: -U: --after: --author: --before: --grep: --since: --until: " + gitFiles + gitRun
}

// gitCommand looks at a subcommand with its arguments.
func (w *walker) gitCommand(sub string, args []word, c call) {
	options := gitOptions(sub)
	switch sub {
	case "difftool", "mergetool", "filter-branch", "send-email", "for-each-repo", "instaweb", "gui", "citool", "gitk", "daemon", "shell", "p4", "svn", "web--browse":
		w.unknown(ReasonScript, c.text)
	}
	p := parseOptions(options, args, sub == "bisect" || sub == "submodule")
	named := c
	named.words = []word{plainWord("git " + sub)}
	w.options(p, named)
	switch sub {
	case "bisect":
		w.gitRuns("run", p.operands, c, false)
	case "submodule":
		w.gitRuns("foreach", p.operands, c, true)
	case "config":
		w.gitConfig(p, c)
		return
	case "checkout":
		w.gitCheckout(p, args)
	case "clone", "fetch", "pull", "push", "ls-remote", "remote", "archive":
		w.gitTransport(p, c)
	}
	w.gitOperands(sub, p, args, c)
	w.gitControls(sub, p, args)
}

// gitCheckout reports what git checkout writes besides what stands behind "--":
// files may stand behind the branch without it, and in its place.
func (w *walker) gitCheckout(p parsed, args []word) {
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

// looksLikeFile tells names that are rather a file's than a branch's.
func looksLikeFile(name string) bool {
	ext := path.Ext(name)
	return strings.HasPrefix(name, ".") || len(ext) > 1 && len(ext) < 6 && strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// gitControls reports the subcommands that do nothing but change what git is told
// in its own folder: its settings, remotes, branches.
func (w *walker) gitControls(sub string, p parsed, args []word) {
	verb := ""
	if len(p.operands) > 0 {
		verb = p.operands[0].text
	}
	file := ".git/config"
	switch sub {
	case "remote":
		if !hasWord("add remove rename rm set-branches set-head set-url", verb) {
			return
		}
	case "submodule":
		if !hasWord("absorbgitdirs add deinit init set-branch set-url sync", verb) {
			return
		}
	case "branch":
		q := parseOptions("-c -C -d -D -f -m -M -u: --copy --delete --edit-description --force --move --set-upstream-to: --unset-upstream", args, false)
		if !q.has("-c -C -d -D -f -m -M -u --copy --delete --edit-description --force --move --set-upstream-to --unset-upstream") {
			return
		}
	case "sparse-checkout":
		if verb == "list" || verb == "check-rules" {
			return
		}
		file = ".git/info/sparse-checkout"
	case "symbolic-ref":
		if len(p.operands) < 2 {
			return
		}
		file = ".git/HEAD"
	case "update-ref", "replace", "pack-refs":
		file = ".git/refs"
	case "gc", "maintenance", "prune", "repack":
		file = ".git/objects"
	default:
		return
	}
	w.access(file, true, "argument of git "+sub)
}

// gitOperands reports the operands that are certainly files: those after "--"
// and those that look like a path outside. A subcommand that changes files
// writes them.
func (w *walker) gitOperands(sub string, p parsed, args []word, c call) {
	why := "argument of git " + sub
	write := changesFiles(sub)
	certain := len(p.operands)
	if i := slices.IndexFunc(args, func(x word) bool { return x.is("--") }); i >= 0 {
		certain -= len(args) - i - 1
	}
	for i, x := range p.operands {
		if i >= certain || looksLikePath(x) || namesFiles(sub, i) {
			w.name(x, write && !(sub == "clone" && i == 0), why)
		}
	}
	switch {
	case sub == "apply" || sub == "am" || len(p.operands) == 0 && (sub == "clean" || sub == "init") || sub == "clone" && len(p.operands) == 1:
		w.access(".", true, "output of git "+sub)
	case c.more && namesFiles(sub, len(p.operands)):
		w.unknownPath(c.text, write)
	}
}

// looksLikePath tells operands that can be nothing but a path.
func looksLikePath(x word) bool {
	for _, prefix := range []string{"/", "~", "./", "../", "$HOME", "${HOME}", "$PWD"} {
		if strings.HasPrefix(x.text, prefix) {
			return true
		}
	}
	return x.text == ".." || x.text == "."
}

// changesFiles tells the subcommands that write the files that they name.
func changesFiles(sub string) bool {
	switch sub {
	case "bundle", "checkout", "checkout-index", "clean", "clone", "init", "mv", "reset", "restore", "rm", "stash", "switch", "worktree":
		return true
	}
	return false
}

// namesFiles tells whether operand i of a subcommand is a file even without a
// "--" before it.
func namesFiles(sub string, i int) bool {
	switch sub {
	case "add", "am", "apply", "check-ignore", "clean", "hash-object", "init", "mv", "restore", "rm":
		return true
	case "bundle", "clone", "worktree":
		return i == 1
	}
	return false
}

// gitRuns looks at "git bisect run" and "git submodule foreach".
func (w *walker) gitRuns(verb string, operands []word, c call, shell bool) {
	i := slices.IndexFunc(operands, func(x word) bool { return x.is(verb) })
	if i < 0 {
		if slices.ContainsFunc(operands, func(x word) bool { return !x.literal() }) {
			w.unknown(ReasonCommand, c.text)
		}
		return
	}
	p := parseOptions("-q --quiet --recursive", operands[i+1:], true)
	w.wrapped(c, wrapper{shell: shell && len(p.operands) == 1}, p.operands)
}

// gitConfig reports a setting that is changed, unless it is harmless.
func (w *walker) gitConfig(p parsed, c call) {
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
	if changes && len(operands) < 2 { // takes something away
		return
	}
	if operands = operands[:min(2, len(operands))]; len(operands) < 2 {
		w.unknown(ReasonSetting, c.text)
		return
	}
	w.gitSetting(joinSetting(operands[0], operands[1]), c)
}

// joinSetting returns KEY=VALUE.
func joinSetting(key, value word) word {
	return word{text: key.text + "=" + value.text, kinds: key.kinds + string(quoted) + value.kinds, braced: true}
}

// gitTransport reports addresses that are commands, ext::CMD, and the settings
// of a clone.
func (w *walker) gitTransport(p parsed, c call) {
	for _, o := range p.options {
		if o.name == "-c" || o.name == "--config" {
			w.gitSetting(o.value, c)
		}
	}
	for _, x := range p.operands {
		_, command, ok := x.cut("::")
		if !ok || strings.Contains(strings.SplitN(x.text, "::", 2)[0], "/") {
			continue
		}
		w.unknown(ReasonOption, c.text)
		if strings.HasPrefix(x.text, "ext::") {
			w.text(command, c)
		}
	}
}

// onlyLooks tells the subcommands that change nothing.
func onlyLooks(sub string) bool {
	switch sub {
	case "annotate", "blame", "cat-file", "check-attr", "check-ignore", "check-ref-format", "cherry", "count-objects", "describe", "diff", "diff-files",
		"diff-index", "diff-tree", "for-each-ref", "fsck", "grep", "help", "log", "ls-files", "ls-remote", "ls-tree", "merge-base", "merge-tree",
		"name-rev", "range-diff", "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status", "var", "verify-commit",
		"verify-tag", "version", "whatchanged":
		return true
	}
	return false
}

// isGitCommand tells git's own subcommands from aliases, which can be anything.
func isGitCommand(sub string) bool {
	const commands = " add am apply archive backfill bisect branch bugreport bundle checkout checkout-index cherry-pick citool clean clone column commit " +
		"commit-graph commit-tree config credential daemon diagnose difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg " +
		"for-each-repo format-patch gc get-tar-commit-id gui hash-object hook index-pack init instaweb interpret-trailers lfs mailinfo mailsplit " +
		"maintenance merge merge-file merge-index merge-one-file mergetool mktag mktree multi-pack-index mv notes p4 pack-objects pack-redundant " +
		"pack-refs patch-id prune prune-packed pull push read-tree rebase receive-pack reflog refs remote repack replace replay request-pull rerere " +
		"reset restore revert rm scalar send-email send-pack shell sparse-checkout stage stash stripspace submodule svn switch symbolic-ref tag " +
		"unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack verify-pack web--browse worktree write-tree "
	return onlyLooks(sub) || strings.Contains(commands, " "+sub+" ")
}
