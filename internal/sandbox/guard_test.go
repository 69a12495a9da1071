//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

func TestGuardDetectsAndRestores(t *testing.T) {
	const setup = `git init -q . && echo x >.git/hooks/kept && chmod 755 .git/hooks/kept && ln -s ../config .git/hooks/link && mkdir -p .git/modules/lib && cp .git/config .git/modules/lib/config && mkdir -p .git/modules/libs/foo/objects && cp .git/config .git/modules/libs/foo/ && chmod 700 .git`
	tests := []struct{ name, line, want string }{
		{"nothing", `git status; echo x >file; git add file`, ""},
		{"a setting", `git config core.fsmonitor evil`, ".git/config"},
		{"a new hook", `echo evil >.git/hooks/pre-commit`, ".git/hooks/pre-commit"},
		{"a changed hook", `echo evil >>.git/hooks/kept`, ".git/hooks/kept"},
		{"a mode", `chmod 644 .git/hooks/kept`, ".git/hooks/kept"},
		{"a removed hook", `rm .git/hooks/kept`, ".git/hooks/kept"},
		{"a link elsewhere", `rm .git/hooks/link; ln -s /etc .git/hooks/link`, ".git/hooks/link"},
		{"a name that wasn't there", `mkdir -p .git/objects/info; echo /evil >.git/objects/info/alternates`, ".git/objects/info/alternates"},
		{"a directory in place of a file", `rm .git/config; mkdir -p .git/config/a`, ".git/config .git/config/a"},
		{"hooks that are a link to outside", `cp -r .git/hooks ../outside/hooks; rm -rf .git/hooks; ln -s ../../outside/hooks .git/hooks`, "*"},
		{"the branch", `git checkout -q -b other`, ".git/HEAD"},
		{"the directory's own mode", `chmod 711 .git/hooks .git; test -f .git/HEAD`, ".git .git/hooks"},
		{"a setting by a mapping, its time put back", `touch -r .git/config t; python3 -c 'import mmap,os; f=os.open(".git/config",os.O_RDWR); mmap.mmap(f,0)[0:1]=b" "' || printf ' ' | dd of=.git/config conv=notrunc status=none; touch -r t .git/config`, ".git/config"},
		{"a submodule's setting", `echo evil >>.git/modules/lib/config`, ".git/modules/lib/config"},
		{"a new submodule's setting", `mkdir .git/modules/new; cp .git/config .git/modules/new/config`, ".git/modules/new .git/modules/new/config"},
		{"the settings of a submodule with slashes in its name", `echo evil >>.git/modules/libs/foo/config`, ".git/modules/libs/foo/config"},
		{"its hook", `mkdir -p .git/modules/libs/foo/hooks; echo evil >.git/modules/libs/foo/hooks/post-checkout`, "*"},
		{"a submodule's submodule", `mkdir -p .git/modules/libs/foo/modules/x/y; cp .git/config .git/modules/libs/foo/modules/x/y/config`, "*"},
		{"submodules elsewhere", `mv .git/modules m; ln -s ../m .git/modules; echo evil >>m/libs/foo/config`, "*"},
		{"a submodule that git works with", `echo x >.git/modules/libs/foo/index; echo y >.git/modules/libs/foo/objects/z; mkdir -p .git/modules/libs/foo/logs`, ""},
		{"a rebase", `mkdir .git/rebase-merge; echo 'exec evil' >.git/rebase-merge/git-rebase-todo`, ".git/rebase-merge .git/rebase-merge/git-rebase-todo"},
		{"a sequence", `mkdir .git/sequencer; echo 'pick x' >.git/sequencer/todo`, ".git/sequencer .git/sequencer/todo"},
		{"an object replaced", `mkdir -p .git/refs/replace; echo x >.git/refs/replace/y`, ".git/refs/replace .git/refs/replace/y"},
		{"a remote", `mkdir -p .git/remotes; echo 'URL: ext::evil' >.git/remotes/x`, ".git/remotes .git/remotes/x"},
		{"a large hook", `head -c 2097152 /dev/zero >.git/hooks/big`, ".git/hooks/big"},
		{"a pipe", `rm .git/config; mkfifo .git/config`, ".git/config"},
	}
	for _, tt := range nightly.Sample(tests, 2, 0) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t)
			unguarded(t, p.workspace, setup)
			g, err := NewGuard(p.workspace, GitControls(".git"))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			unguarded(t, p.workspace, tt.line)
			outside := unguarded(t, p.outside, "find . -type f | xargs -r cat")
			changed, err := g.Changed()
			if got := strings.Join(changed, " "); err != nil || got != tt.want && (tt.want != "*" || got == "") {
				t.Errorf("changed: %q, %v; want %q", got, err, tt.want)
			}
			if err := g.Restore(); err != nil {
				t.Error(err)
			}
			if changed, err := g.Changed(); err != nil || len(changed) != 0 {
				t.Errorf("changed after restoring: %v, %v", changed, err)
			}
			if now := unguarded(t, p.outside, "find . -type f | xargs -r cat"); now != outside {
				t.Errorf("restoring changed files outside: %q became %q", outside, now)
			}
		})
	}
}

func TestGuardKeepsRepositoryWithChangedMode(t *testing.T) {
	p := newFixture(t)
	unguarded(t, p.workspace, `git init -q . && git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m one`)
	g, err := NewGuard(p.workspace, GitControls(".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	unguarded(t, p.workspace, `chmod 500 .git .git/hooks; chmod 000 .git/config`)
	if err := g.Restore(); err != nil {
		t.Error(err)
	}
	if got := unguarded(t, p.workspace, `git log --format=%s`); !strings.Contains(got, "one") {
		t.Errorf("the commits are gone: %q", got)
	}
}

// TestGuardMovesBack moves what is guarded away: all of it, with what was not saved, is where it was.
func TestGuardMovesBack(t *testing.T) {
	for line, left := range map[string]string{
		`mv .git .git2`: "./f",
		`mv .git .git2; git init -q .; echo evil >>.git2/config`: "./f",
		`mkdir -p a/b; mv .git a/b/c; ln -s /etc .git`:           "./f",
		`mv .git/hooks hooks; mv .git x`:                         "./f",
		`mv .git/config config; echo y >.git/config`:             "./f",
		`mv .git .git2; rm .git2/config; echo user >mine`:        "./f ./mine",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t)
			unguarded(t, p.workspace, `git init -q . && git config user.email a@b && git config user.name a && echo 1 >f && git add f && git commit -qm x`)
			before := unguarded(t, p.workspace, `git rev-parse HEAD; cat .git/config; ls .git/hooks`)
			g, err := NewGuard(p.workspace, GitControls(".git"))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if _, ok := g.identify(".git"); !ok {
				t.Skip("this file system stores no time of creation")
			}
			unguarded(t, p.workspace, line)
			if err := g.Restore(); err != nil {
				t.Fatal(err)
			}
			if after := unguarded(t, p.workspace, `git rev-parse HEAD; cat .git/config; ls .git/hooks`); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			found := unguarded(t, p.workspace, `git fsck --strict; find . -path ./.git -prune -o ! -name a ! -name b ! -name . -print | sort`)
			if got := strings.Join(strings.Fields(found), " "); got != left {
				t.Errorf("left: %s", got)
			}
		})
	}
}

func TestGuardOfGitFile(t *testing.T) {
	p := newFixture(t)
	unguarded(t, p.workspace, `mkdir ../outside/git; echo 'gitdir: ../outside/git' >.git`)
	g, err := NewGuard(p.workspace, GitControls(".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, line := range []string{`echo 'gitdir: evil' >.git`, `rm .git`, `rm .git; mkdir -p .git/hooks; echo x >.git/config`, `rm .git; ln -s ../outside/git .git`} {
		unguarded(t, p.workspace, line)
		if changed, err := g.Changed(); err != nil || len(changed) == 0 {
			t.Errorf("%s: changed: %v, %v", line, changed, err)
		}
		if err := g.Restore(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if text, err := os.ReadFile(filepath.Join(p.workspace, ".git")); err != nil || string(text) != "gitdir: ../outside/git\n" {
			t.Errorf("%s: put back %q, %v", line, text, err)
		}
	}
}

func BenchmarkGuardWithoutChanges(b *testing.B) {
	dir := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	g, err := NewGuard(dir, GitControls(".git"))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		if changed, err := g.Changed(); err != nil || len(changed) > 0 {
			b.Fatal(changed, err)
		}
	}
}

func TestGuardedDirectoryReplacedBySymlink(t *testing.T) {
	p := newFixture(t)
	unguarded(t, p.workspace, `git init -q .`)
	g, err := NewGuard(p.workspace, GitControls(".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	unguarded(t, p.workspace, `mv .git ../outside/git; ln -s ../outside/git .git`)
	if changed, err := g.Changed(); err != nil || len(changed) == 0 {
		t.Errorf("changed: %v, %v", changed, err)
	}
	if err := g.Restore(); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(filepath.Join(p.workspace, ".git")); err != nil || !info.IsDir() {
		t.Errorf("not a directory: %v, %v", info, err)
	}
}
