package shell

import (
	"path"
	"slices"
	"strings"
)

// manager describes a program whose subcommands run other programs: package
// managers, tools that choose a version of a language, build tools.
type manager struct {
	options string             // before and, unless first is set, behind the subcommand
	first   bool               // options end at the subcommand
	runs    map[string]wrapper // subcommands that run a command; their options join those above
	scripts string             // subcommands that run a script of the project or else a command
	own     string             // its other subcommands; of what isn't one of them it makes a script or command
	behind  bool               // the command stands behind "--"
}

// Options of the package managers.
const (
	npmOptions = "-C^ -c! -g -h -p: -q -s -w: -y --cache> --call! --dry-run --force --global --ignore-scripts --include: --if-present --json --legacy-peer-deps " +
		"--location: --loglevel: --no --no-audit --no-fund --no-install --no-save --omit: --package: --package-lock-only --prefer-offline --prefix^ --production " +
		"--registry: --save --save-dev --save-exact --script-shell% --silent --tag: --userconfig% --workspace: --workspaces --ws --yes"
	pnpmOptions = "-C^ -c? -D -F: -P -r -s -w --config: --dev --dir^ --filter: --frozen-lockfile --if-present --no-bail --no-frozen-lockfile --package: --parallel " +
		"--prefer-offline --prod --recursive --reporter: --save-dev --shell-mode? --silent --store-dir> --stream --workspace-root"
	yarnOptions = "-D -p: -q -s --cwd^ --dev --frozen-lockfile --immutable --ignore-engines --ignore-scripts --network-timeout: --package: --production --quiet --silent --verbose"
	bunOptions  = "-p: -y --bun --cwd^ --env-file< --filter: --frozen-lockfile --hot --if-present --package: --production --silent --smol --watch --yes"
	uvOptions   = "-m -n -p: -q -s -v -U --all-extras --all-groups --all-packages --cache-dir> --color: --config-file% --default-index: --dev --directory^ --env-file< --exact " +
		"--extra: --extra-index-url: --find-links< --from: --frozen --group: --index: --index-url: --isolated --link-mode: --locked --managed-python --module " +
		"--native-tls --no-cache --no-config --no-default-groups --no-dev --no-editable --no-env-file --no-extra: --no-group: --no-progress --no-project --no-sync " +
		"--offline --only-dev --only-group: --package: --prerelease: --project^ --python: --python-platform: --quiet --refresh --reinstall --resolution: --script " +
		"--system-certs --upgrade --verbose --with: --with-editable< --with-requirements<"
	condaOptions = "-n: -p< -v --cwd^ --live-stream --name: --no-capture-output --prefix<"
)

const pipOptions = "-c< -d> -e< -f: -i: -r< -t> -U --build> --cache-dir> --cert< --constraint< --dest> --editable< --extra-index-url: --find-links: --index-url: --log> " +
	"--prefix> --python: --report> --requirement< --root> --src> --target> --wheel-dir>"

// managers describes them.
func managers() map[string]manager {
	plain := func(subs ...string) map[string]wrapper {
		runs := map[string]wrapper{}
		for _, s := range subs {
			runs[s] = wrapper{}
		}
		return runs
	}
	npm := wrapper{options: npmOptions, permute: true}
	all := map[string]manager{
		"npm":  {options: npmOptions, runs: map[string]wrapper{"exec": npm, "x": npm}},
		"npx":  {options: npmOptions, first: true, runs: plain("")},
		"pnpm": {options: pnpmOptions, first: true, runs: plain("exec", "dlx"), scripts: "run run-script", own: pnpmOwn},
		"pnpx": {options: pnpmOptions, first: true, runs: plain("")},
		"yarn": {options: yarnOptions, first: true, runs: plain("exec", "dlx"), scripts: "run", own: yarnOwn},
		"bun":  {options: bunOptions, first: true, runs: plain("x"), scripts: "run", own: bunOwn},
		"bunx": {options: bunOptions, first: true, runs: plain("")},
		"uv":   {options: uvOptions, first: true, runs: plain("run", "tool run")},
		"uvx":  {options: uvOptions, first: true, runs: plain("")},
		"mise": {options: "-C^ -q -v -y -E: --cd^ --env: --quiet --verbose --yes", first: true, runs: map[string]wrapper{"exec": {options: "-c! -j: --command! --jobs:"}, "x": {options: "-c! -j: --command! --jobs:"}}, behind: true},

		"poetry":  {options: "-C^ -n -P^ -q -v --ansi --directory^ --no-ansi --no-cache --no-interaction --no-plugins --project^ --quiet --verbose", first: true, runs: plain("run")},
		"pipenv":  {options: "-q -v --bare --python: --quiet --site-packages --verbose", first: true, runs: plain("run")},
		"pdm":     {options: "-c% -p^ -q -s -v --config% --project^", first: true, scripts: "run"},
		"hatch":   {options: "-e: -p: -q -v --env: --project:", first: true, scripts: "run"},
		"rye":     {options: "-q -v --pyproject<", first: true, scripts: "run"},
		"bundle":  {options: "-r% --gemfile< --keep-file-descriptors --no-color --retry: --verbose", first: true, runs: plain("exec")},
		"bundler": {options: "--gemfile< --no-color --retry: --verbose", first: true, runs: plain("exec")},
		"conda":   {options: condaOptions, first: true, runs: plain("run")},
		"mamba":   {options: condaOptions, first: true, runs: plain("run")},
		"pip":     {options: pipOptions}, "pip3": {options: pipOptions},
		"cargo": {options: "-C^ -F: -j: -p: -q -v -Z: --artifact-dir> --bin: --color: --config% --example: --features: --lockfile-path> --manifest-path< --message-format: " +
			"--out-dir> --package: --path< --profile: --root> --target: --target-dir> --test:"},
		"direnv": {first: true, runs: map[string]wrapper{"exec": {before: "<"}}},
		"rustup": {options: "-q -v --quiet --verbose --install", first: true, runs: map[string]wrapper{"run": {before: "-"}}},
		"rbenv":  {first: true, runs: plain("exec")}, "pyenv": {first: true, runs: plain("exec")}, "nodenv": {first: true, runs: plain("exec")},
		"goenv": {first: true, runs: plain("exec")}, "asdf": {first: true, runs: plain("exec")}, "volta": {first: true, runs: plain("run")},
		"devbox": {options: "-c< -e: --config<", first: true, scripts: "run"}, "op": {options: "--env-file< --no-masking", first: true, runs: plain("run")},
		"doppler": {options: "-c: -p: --command! --config: --project:", first: true, runs: plain("run")},
	}
	return all
}

// The subcommands of those that take others for scripts or commands.
const (
	pnpmOwn = "add approve-builds audit bin c cache cat-file cat-index cli config create dedupe deploy doctor env fetch find-hash get help i import init install " +
		"install-test it licenses link list ll ln ls outdated pack patch patch-commit patch-remove prune publish rb rebuild recursive remove restart rm root self-update " +
		"server set setup start stop store t test tst un uninstall unlink up update upgrade version view why"
	yarnOwn = "add audit autoclean bin cache check config constraints create dedupe explain generate-lock-entry global help import info init install licenses link list " +
		"login logout node npm outdated owner pack patch patch-commit plugin policies publish rebuild remove search set stage tag team test unlink unplug up upgrade " +
		"upgrade-interactive version versions why workspace workspaces"
	bunOwn = "add audit build create help init install info link outdated patch pm publish remove repl test unlink update upgrade why"
)

// manage looks at a program of that kind.
func (w *walker) manage(c call, m manager) {
	before := w.at
	w.inside++
	defer func() {
		w.at = before
		w.inside--
	}()
	p := parseOptions(m.options, c.args(), true)
	w.managerOptions(p, c, true)
	words := p.operands
	if _, ok := m.runs[""]; ok {
		w.runs(c, words)
		return
	}
	if len(words) == 0 {
		if c.more {
			w.unknown(ReasonCommand, c.text)
		}
		return
	}
	sub := words[0]
	if !sub.fixed() {
		w.unknown(ReasonCommand, c.text)
		return
	}
	name, rest := sub.text, words[1:]
	if len(rest) > 0 && rest[0].literal() {
		if _, ok := m.runs[name+" "+rest[0].text]; ok {
			name, rest = name+" "+rest[0].text, rest[1:]
		}
	}
	r, runs := m.runs[name]
	switch {
	case runs:
		w.managed(c, m, r, rest)
	case hasWord(m.scripts, name):
		q := parseOptions(m.options, rest, true)
		w.managerOptions(q, c, true)
		w.runs(c, q.operands)
	case m.own != "" && !hasWord(m.own, name):
		w.runs(c, words)
	default:
		w.managerOptions(parseOptions(m.options, rest, m.first), c, false)
	}
}

// managed looks at the command behind a subcommand that runs it.
func (w *walker) managed(c call, m manager, r wrapper, words []word) {
	p := parseOptions(r.options+" "+m.options, words, !r.permute)
	w.managerOptions(p, c, true)
	words = w.operandsBefore(r, p.operands, c)
	if i := slices.IndexFunc(words, func(x word) bool { return x.is("--") }); m.behind && i >= 0 {
		words = words[i+1:]
	}
	w.runs(c, words)
}

// runs looks at the words of a command that a package manager runs, which may
// name a package and its version in place of a program.
func (w *walker) runs(c call, words []word) {
	if len(words) == 0 {
		if c.more {
			w.unknown(ReasonCommand, c.text)
		}
		return
	}
	first := words[0]
	if i := strings.LastIndexByte(first.text, '@'); i > 0 && first.literal() {
		words = slices.Concat([]word{renamed(first, first.text[:i])}, words[1:])
	}
	w.wrapped(c, wrapper{}, words)
}

// managerOptions reports options, and changes to the directories that they name.
// Where a command stands behind them, one that isn't known makes it unknown.
func (w *walker) managerOptions(p parsed, c call, runs bool) {
	for _, o := range p.options {
		if !o.known && runs {
			w.unknown(ReasonOption, c.text)
		}
	}
	for _, o := range p.options {
		if o.mark == markEnters && o.given {
			w.beyond(o.value, o.name+" of "+c.words[0].text)
		}
	}
	w.options(p, c)
	w.enterOptions(p)
}

// beyond reports a folder in which a program works: one outside is written; one
// inside is judged as going there would be, which needs no more than reading it.
func (w *walker) beyond(x word, why string) {
	if _, known := home(x); known && (isRooted(x.text) || strings.HasPrefix(path.Clean(x.text), "..")) {
		w.name(x, true, why)
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
