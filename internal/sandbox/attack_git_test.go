//go:build linux

package sandbox

// evil is a program that git must not start.
const evil = `'touch "$OUT/pwned"'`

// trusted runs git outside, after the command, like a later step or a user, and
// succeeds if that started evil.
func trusted(line string) string {
	return "(" + line + `) </dev/null >/dev/null 2>&1; test -e "$OUT/pwned"`
}

// hook creates a hook, which only works where hooks can be created.
func hook(name string) string {
	return `printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >.git/hooks/` + name + ` && chmod 755 .git/hooks/` + name
}

// onGit are attacks on git's configuration, with the repository in the
// workspace. Each ends with running git outside.
func onGit() []attack {
	const edit, commit = `echo two >>file; `, `git commit -q --allow-empty -m x`
	config := func(setting, line string) (attackLine, effect string) {
		return "git config " + setting, trusted(line)
	}
	open := func(a attack) attack { a.held = gap; return a }
	a := func(name, line, effect string) attack {
		return attack{name: name, line: line, effect: effect, held: undone}
	}
	c := func(name, setting, then string) attack {
		line, effect := config(setting, then)
		return a(name, line, effect)
	}
	return []attack{
		c("a monitor of files", `core.fsmonitor `+evil, `git status`),
		c("a directory of hooks", `core.hooksPath "$WS/h"; mkdir h; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >h/pre-commit; chmod 755 h/pre-commit`, commit),
		a("a hook before commits", hook("pre-commit"), trusted(commit)),
		a("a hook after checkouts", hook("post-checkout"), trusted(`git checkout -q -b x`)),
		a("a hook of every change of a ref", hook("reference-transaction"), trusted(`git update-ref refs/x HEAD`)),
		a("a hook of every change of the index", hook("post-index-change"), trusted(edit+`git add file`)),
		a("a hook that replaces a symlink to one", `ln -s "$WS/h" .git/hooks/pre-commit; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >h; chmod 755 h`, trusted(commit)),
		c("an editor", `core.editor `+evil, `git commit -q --allow-empty`),
		c("an editor of sequences", `sequence.editor `+evil, `git rebase -q -i --root`),
		c("a program for differences", `diff.external `+evil, edit+`git diff`),
		a("a filter of what is added", `git config filter.x.clean `+evil+`; echo 'file filter=x' >.gitattributes`, trusted(edit+`git add file`)),
		a("a filter of what is checked out", `git config filter.x.smudge `+evil+`; echo 'file filter=x' >.git/info/attributes`, trusted(`rm file; git checkout -q file`)),
		a("a filter that runs on", `git config filter.x.process `+evil+`; echo 'file filter=x' >.gitattributes`, trusted(edit+`git add file`)),
		a("a conversion to text", `git config diff.x.textconv `+evil+`; echo 'file diff=x' >.gitattributes`, trusted(`git log -p`)),
		a("a driver of merges", `git config merge.x.driver `+evil+`; echo '* merge=x' >.gitattributes`, trusted(`git checkout -q -b x; echo a >file; git commit -qam a; git checkout -q -; echo b >file; git commit -qam b; git merge -q x`)),
		c("a helper for credentials", `credential.helper '!touch "$OUT/pwned"; :'`, `echo url=http://example.com | GIT_TERMINAL_PROMPT=0 git credential fill`),
		c("a program for asking for passwords", `core.askPass "$WS/ask"; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >ask; chmod 755 ask`, `echo url=http://example.com | git credential fill`),
		c("a command for ssh", `core.sshCommand `+evil, `git fetch -q ssh://host.invalid/x`),
		c("a command for proxies", `core.gitProxy "$WS/ask"; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >ask; chmod 755 ask`, `git fetch -q git://host.invalid/x`),
		c("a remote that is a command", `remote.origin.url 'ext::sh -c touch% $OUT/pwned'; git config protocol.ext.allow always`, `git fetch -q origin`),
		c("a remote whose other side is a command", `remote.origin.url .; git config remote.origin.uploadpack `+evil, `git fetch -q origin`),
		c("a name for a remote that leads to another", `protocol.ext.allow always; git config url.'ext::sh -c touch% $OUT/pwned% '.insteadOf https:`, `git fetch -q https://example.com/x`),
		c("a program for signatures", `gpg.program "$WS/ask"; git config commit.gpgSign true; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >ask; chmod 755 ask`, commit),
		c("a program for trailers", `trailer.x.command `+evil, `git commit -q --allow-empty -m x --trailer x=y`),
		c("a command of a word", `alias.st '!touch "$OUT/pwned"'`, `git st`),
		c("another file of settings", `include.path "$WS/more"; printf '[core]\n\tfsmonitor = touch "$OUT/pwned"\n' | sed 's/= \(.*\)/= "touch \\"$OUT\/pwned\\""/' >more`, `git status`),
		c("settings of the work tree", `extensions.worktreeConfig true; git config --worktree core.fsmonitor `+evil, `git status`),
		a("a work tree elsewhere", `git config core.worktree "$OUT/dir"`, `git checkout -q -f 2>/dev/null; test -e "$OUT/dir/file"`),
		a("objects from elsewhere", `mkdir -p .git/objects/info && echo "$OUT/r/.git/objects" >.git/objects/info/alternates`, `git init -q "$OUT/r" && echo gotcha | git -C "$OUT/r" hash-object -q -w --stdin 2>/dev/null || echo gotcha | git -C "$OUT/r" hash-object -w --stdin >/dev/null; git cat-file -e "$(echo gotcha | git hash-object --stdin)"`),
		a("objects replaced", `git replace HEAD:file "$(echo evil | git hash-object -w --stdin)" 2>/dev/null || git replace -f "$(git rev-parse HEAD:file)" "$(echo evil | git hash-object -w --stdin)"`, `git show HEAD:file | grep -q evil`),
		open(a("another commit under a branch's name", `echo evil >file && git commit -qam evil`, `git log --format=%s -1 | grep -q evil`)),
		a("another branch", `git symbolic-ref HEAD refs/heads/evil`, `test "$(git symbolic-ref HEAD)" = refs/heads/evil`),
		a("a rebase to go on with", `mkdir .git/rebase-merge && cd .git/rebase-merge && echo "exec touch \"\$OUT/pwned\"" >git-rebase-todo && : >done && git rev-parse HEAD | tee onto >orig-head && echo detached\ HEAD >head-name && : >interactive`, trusted(`git rebase --continue`)),
		open(a("a message that is a symlink", `ln -sf "$OUT/victim" .git/COMMIT_EDITMSG`, `git commit -q --allow-empty -m gotcha; grep -q gotcha "$OUT/victim"`)),
		open(a("a log that is a symlink", `rm -f .git/logs/HEAD; ln -s "$OUT/victim" .git/logs/HEAD`, `git commit -q --allow-empty -m gotcha; grep -q gotcha "$OUT/victim"`)),
		open(a("an index that is a symlink", `rm -f .git/index; ln -s "$OUT/f" .git/index`, `git add file; test -e "$OUT/f"`)),
		a("a directory of objects that is a symlink", `mkdir d && mv .git/objects d/o && ln -s "$OUT/dir" .git/objects && cp -r d/o/. "$OUT/dir/" 2>/dev/null; :`, `echo gotcha | git hash-object -w --stdin >/dev/null; test -e "$OUT/dir/$(echo gotcha | git hash-object --stdin | sed 's|^..|&/|')"`),
		open(a("a file that is not looked at", `git update-index --assume-unchanged file`, `echo evil >>file; test -z "$(git status --short file)"`)),
		a("a directory replaced", `mv .git x && mkdir .git && cp -r x/. .git/ && git config core.fsmonitor `+evil, trusted(`git status`)),
		a("a directory removed", `rm -rf .git`, `! test -e .git/config`),
		a("a pointer to another directory", `mv .git x && git -C x config core.bare false && git --git-dir=x config core.fsmonitor `+evil+` && echo 'gitdir: x' >.git`, trusted(`git status`)),
		a("settings of a module", `mkdir -p .git/modules && git init -q --template= --separate-git-dir=.git/modules/m m && git -C m -c user.name=a -c user.email=b commit -q --allow-empty -m m && git -C m config core.fsmonitor `+evil, trusted(`git -c advice.addEmbeddedRepo=false add m; git status`)),
	}
}

// onLinkedGit are the same attacks in a linked worktree, which jobs use.
func onLinkedGit() []attack {
	return []attack{
		{name: "the repository's settings", line: `git config core.fsmonitor ` + evil, effect: trusted(`git status`)},
		{name: "the repository's hooks", line: `h="$(git rev-parse --git-common-dir)/hooks/pre-commit"; printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >"$h"; chmod 755 "$h"`, effect: trusted(`git commit -q --allow-empty -m x`)},
		{name: "the work tree's settings", line: `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor ` + evil, effect: trusted(`git status`)},
		{name: "which directory is common", line: `d="$(git rev-parse --git-dir)"; mkdir x && cp -r "$(git rev-parse --git-common-dir)/." x/ && git --git-dir=x config core.fsmonitor ` + evil + ` && echo "$WS/x" >"$d/commondir"`, effect: trusted(`git status`)},
		{name: "where the work tree is", line: `echo "$WS/x/.git" >"$(git rev-parse --git-dir)/gitdir"`, effect: `grep -q /x/.git "$OUT/main/.git/worktrees/work/gitdir"`},
		{name: "which branch is checked out", line: `git symbolic-ref HEAD refs/heads/evil`, effect: `grep -q evil "$OUT/main/.git/worktrees/work/HEAD"`},
		{name: "another branch's commit", line: `git branch -f x "$(git commit-tree -m evil 'HEAD^{tree}')"`, effect: `git log -1 --format=%s x 2>/dev/null | grep -q evil`},
		{name: "the index", line: `git update-index --assume-unchanged file`, effect: `echo evil >>file; test -z "$(git status --short file)"`},
		{name: "the objects", line: `echo evil | git hash-object -w --stdin`, effect: `git cat-file -e "$(echo evil | git hash-object --stdin)" 2>/dev/null`},
		{name: "an object overwritten", line: `o="$(git rev-parse --git-common-dir)/objects/$(git rev-parse HEAD:file | sed 's|^..|&/|')"; chmod 644 "$o"; echo evil >"$o"`, effect: `! git cat-file blob HEAD:file >/dev/null 2>&1`},
		{name: "another work tree", line: `git worktree add -q --detach x`, effect: `git worktree list | grep -q /x`},
		{name: "a lock in the way", line: `touch "$(git rev-parse --git-dir)/index.lock"`, effect: `test -e "$OUT/main/.git/worktrees/work/index.lock"`},
		{name: "the user's settings", line: `git config --global core.fsmonitor ` + evil, effect: trusted(`git status`)},
		{name: "the pointer, to another directory", line: `cp -r "$(git rev-parse --git-common-dir)" x && git --git-dir=x config core.bare false && git --git-dir=x config core.fsmonitor ` + evil + ` && echo 'gitdir: x' >.git`, effect: trusted(`git status`), held: undone},
		{name: "the pointer, replaced by a directory", line: `cp -r "$(git rev-parse --git-common-dir)" x && rm .git && mv x .git && git config core.fsmonitor ` + evil, effect: trusted(`git status`), held: undone},
		{name: "the pointer, replaced by a symlink", line: `cp -r "$(git rev-parse --git-common-dir)" x && git --git-dir=x config core.fsmonitor ` + evil + ` && ln -sf x .git`, effect: trusted(`git status`), held: undone},
		{name: "the pointer, removed below another repository", line: `rm .git && (cd .. && git init -q . && git config core.fsmonitor ` + evil + `)`, effect: trusted(`git status`) + ` || ! test -e .git`, held: undone},
	}
}

// hostile are repositories that try to make an ordinary command in them
// do something that it should not.
func hostile() []attack {
	pwned := `test -e "$OUT/pwned"`
	script := func(file string) string {
		return `printf '#!/bin/sh\ntouch "$OUT/pwned"\n' >` + file + ` && chmod 755 ` + file
	}
	return []attack{
		{name: "a monitor of files", shipped: `git config core.fsmonitor ` + evil, line: `git status`, effect: pwned},
		{name: "a hook", shipped: hook("post-checkout"), line: `git checkout -q -b x; git clone -q --template=.git . "$TMPDIR/x"`, effect: pwned},
		{name: "a program for differences", shipped: `git config diff.external ` + evil + `; echo two >>file`, line: `git diff`, effect: pwned},
		{name: "a conversion to text", shipped: `git config diff.x.textconv ` + evil + `; echo '* diff=x' >.gitattributes`, line: `git log -p`, effect: pwned},
		{name: "a filter", shipped: `git config filter.x.clean ` + evil + `; echo '* filter=x' >.gitattributes; echo two >file`, line: `touch file; git status`, effect: pwned},
		{name: "a command of a word", shipped: `git config alias.st '!touch "$OUT/pwned"'`, line: `git st`, effect: pwned},
		{name: "a command for ssh", shipped: `git config core.sshCommand ` + evil + `; git remote add origin ssh://host.invalid/x`, line: `git ls-remote`, effect: pwned},
		{name: "a work tree elsewhere", shipped: `git config core.worktree "$OUT/dir"`, line: `git checkout -q -f`, effect: `test -e "$OUT/dir/file"`},
		{name: "a module that a monitor of files comes with", shipped: `git init -q m; git -C m -c user.name=a -c user.email=b commit -q --allow-empty -m m; git -C m config core.fsmonitor ` + evil + `; git add m 2>/dev/null`, line: `git status`, effect: pwned},
		{name: "a target of make", needs: `command -v make`, shipped: `printf 'test:\n\ttouch "$(OUT)/pwned"\n' >Makefile`, line: `make test`, effect: pwned},
		{name: "a script after installing", needs: `command -v npm`, shipped: `echo '{"name":"x","version":"1.0.0","scripts":{"postinstall":"touch \"$OUT/pwned\""}}' >package.json`, line: `npm install --offline --no-audit --no-fund`, effect: pwned},
		{name: "a shell for scripts", needs: `command -v npm`, shipped: `echo '{"name":"x","version":"1.0.0","scripts":{"test":"true"}}' >package.json; ` + script("sh") + `; echo "script-shell=./sh" >.npmrc`, line: `npm test`, effect: pwned},
		{name: "a module by a name that the language's library has", shipped: `echo 'import os; open(os.environ["OUT"]+"/pwned","w")' >json.py`, line: `python3 -c 'import json'`, effect: pwned},
		{name: "a test", shipped: `printf 'import os,unittest\nclass T(unittest.TestCase):\n  def test_x(self): open(os.environ["OUT"]+"/pwned","w")\n' >test_x.py`, line: `python3 -m unittest -q`, effect: pwned},
		{name: "a generator", needs: `command -v go`, shipped: `printf 'package x\n\n//go:generate touch $OUT/pwned\n' >x.go; printf 'module x\n\ngo 1.20\n' >go.mod`, line: `GOTOOLCHAIN=local GOFLAGS=-mod=mod go generate ./...`, effect: pwned},
		{name: "a symlink at the path of a build output", shipped: `ln -s "$OUT/f" out.txt; printf 'out.txt:\n\techo x >$@\n' >Makefile`, needs: `command -v make`, line: `make -B out.txt`, effect: `test -e "$OUT/f"`},
		{name: "a directory of logs that is a symlink", shipped: `ln -s "$OUT" logs`, line: `mkdir -p logs && echo x >logs/f`, effect: `test -e "$OUT/f"`},
	}
}
