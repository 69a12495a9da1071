package remote

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// mirrorOf makes or updates the mirror of a remote in the sandbox.
func (o *origin) mirrorOf(remote Repo, depth int) *gitops.Repo {
	o.T.Helper()
	git, err := Mirror(o.T.Context(), o.mirrorDir(), remote, MirrorOptions{Depth: depth}, o.env())
	must(o.T, err)
	o.At(git.Common).Fsck()
	return gitops.New(git)
}

func (o *origin) mirrorDir() string {
	return filepath.Join(filepath.Dir(o.Root), "cache", "mirror.git")
}

func resolves(t *testing.T, r *gitops.Repo, rev, want string) {
	t.Helper()
	got, err := r.Git.Resolve(rev)
	if err != nil || got != want {
		t.Errorf("%s is %s (%v), want %s", rev, got, err, want)
	}
}

// remotes returns the ways by which the origin can be reached.
func (o *origin) remotes(t *testing.T) map[string]func() Repo {
	t.Helper()
	return map[string]func() Repo{
		"file": o.remote,
		"path": func() Repo { return Repo{URL: o.bare.Root} },
		"http": func() Repo { return o.overHTTP(nil) },
		"ssh":  func() Repo { r, _ := o.overSSH(); return r },
	}
}

func TestAMirrorFollowsItsRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, kind := range []string{"file", "path", "http", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			r := o.mirrorOf(remote, 0)
			first := o.Run("rev-parse", "HEAD")
			resolves(t, r, "HEAD", first)
			resolves(t, r, "main", first)
			resolves(t, r, "origin/main", first)
			resolves(t, r, "refs/heads/side", first)
			resolves(t, r, "v1", o.Run("rev-parse", "v1^{commit}"))
			resolves(t, r, first[:9], first)

			second := o.advance("main", "a", "3\n")
			o.bare.Run("branch", "-D", "side")
			o.bare.Run("tag", "-d", "v1")
			r = o.mirrorOf(remote, 0)
			resolves(t, r, "main", second)
			for _, gone := range []string{"side", "v1"} {
				if hash, err := r.Git.Resolve(gone); err == nil {
					t.Errorf("%s is still at %s", gone, hash)
				}
			}

			o.Run("reset", "-q", "--hard", first)
			forced := o.advance("main", "other", "forced\n")
			resolves(t, o.mirrorOf(remote, 0), "HEAD", forced)

			o.bare.Run("branch", "trunk", "main")
			o.bare.Run("symbolic-ref", "HEAD", "refs/heads/trunk")
			o.bare.Run("branch", "-D", "main")
			r = o.mirrorOf(remote, 0)
			resolves(t, r, "HEAD", forced)
			branches, head, err := Branches(t.Context(), remote)
			if diff := cmp.Diff(map[string]string{"trunk": forced}, branches); err != nil || head != "trunk" || diff != "" {
				t.Errorf("branches %v, head %q, %v", branches, head, err)
			}
		})
	}
}

func TestMirrorOfDirectoryWithoutGitProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	env := o.env()
	env.GitProgram = ""
	for range 2 {
		git, err := Mirror(t.Context(), o.mirrorDir(), o.remote(), MirrorOptions{Depth: 1}, env)
		must(t, err)
		r := gitops.New(git)
		o.At(git.Common).Fsck()
		tip := o.Run("rev-parse", "HEAD")
		resolves(t, r, "main", tip)
		resolves(t, r, "v1", o.Run("rev-parse", "v1^{commit}"))
		wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), tip)
		must(t, err)
		o.At(wt.Root()).Clean()
		o.advance("main", "d/b", "again\n")
	}
}

func TestURLsOfFilesMayHoldEscapes(t *testing.T) {
	o := newOrigin(t)
	odd := filepath.Join(filepath.Dir(o.bare.Root), "my origin#1?%.git")
	must(t, os.Rename(o.bare.Root, odd))
	o.bare.Root = odd
	for _, url := range []string{
		"file://" + odd,
		"file://" + filepath.Dir(odd) + "/my%20origin%231%3F%25.git",
		"file://localhost" + filepath.Dir(odd) + "/my%20origin%231%3F%25.git",
	} {
		for _, program := range []string{"", o.Git} {
			env := o.env()
			env.GitProgram = program
			if _, err := Mirror(t.Context(), o.mirrorDir(), Repo{URL: url}, MirrorOptions{}, env); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestShallowMirrorCanBeDeepened(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, kind := range []string{"file", "http", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			for n := range 3 {
				o.advance("main", "a", fmt.Sprint(n, " more\n"))
			}
			count := func(r *gitops.Repo) string {
				return o.At(r.Git.Common).Run("rev-list", "--count", "refs/remotes/origin/main")
			}
			for _, step := range []struct {
				depth int
				want  string
			}{{1, "1"}, {1, "1"}, {2, "2"}, {0, "5"}, {1, "5"}} {
				if got := count(o.mirrorOf(remote, step.depth)); got != step.want {
					t.Fatalf("at depth %d there are %s commits, want %s", step.depth, got, step.want)
				}
			}
			o.advance("main", "a", "4\n")
			if got := count(o.mirrorOf(remote, 1)); got != "6" {
				t.Errorf("what was complete has %s commits", got)
			}
		})
	}
}

func TestAMirrorFollowsAShallowRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	cut := filepath.Join(filepath.Dir(o.Root), "cut.git")
	o.Run("clone", "-q", "--bare", "--depth=1", o.url(), cut)
	for range 2 {
		resolves(t, o.mirrorOf(Repo{URL: "file://" + cut}, 0), "HEAD", o.Run("rev-parse", "HEAD"))
	}
}

func TestMirrorRemovesAgentChanges(t *testing.T) {
	o := newOrigin(t)
	dir := o.mirrorOf(o.remote(), 0).Git.Common
	trap := filepath.Join(t.TempDir(), "trapped")
	script := "#!/bin/sh\ntouch " + trap + "\n"
	evil := o.At(dir)
	evil.Write("hooks/post-checkout", script, "hooks/reference-transaction", script, "info/attributes", "* filter=x\n",
		"info/grafts", "x\n", "objects/info/alternates", "/nowhere/objects\n", "commondir", "/nowhere\n", "packed-refs.lock", "")
	evil.Chmod(0o755, "hooks/post-checkout")
	evil.Chmod(0o755, "hooks/reference-transaction")
	must(t, os.WriteFile(filepath.Join(dir, "config"), []byte("[core]\nbare=true\nfsmonitor="+trap+"\n[filter \"x\"]\nsmudge=touch "+trap+"\n[include]\npath=/x\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "refs", "remotes", "origin", "main"), []byte(strings.Repeat("1", 40)+"\n"), 0o644))
	must(t, os.MkdirAll(filepath.Join(dir, "refs", "replace"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "refs", "replace", o.Run("rev-parse", "HEAD")), []byte(o.Run("rev-parse", "HEAD~1")+"\n"), 0o644))

	r := o.mirrorOf(o.remote(), 0)
	tip := o.Run("rev-parse", "HEAD")
	resolves(t, r, "main", tip)
	wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), tip)
	must(t, err)
	o.At(wt.Root()).Clean()
	if _, err := os.Stat(trap); err == nil {
		t.Error("what the agent left was run")
	}
	for _, gone := range []string{"hooks", "info", "objects/info", "commondir", "refs/replace"} {
		if _, err := os.Lstat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
}

func TestDamagedMirrorIsRefetched(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, damage := range map[string]func(o *origin, dir string){
		"the packs are gone":      func(o *origin, dir string) { must(o.T, os.RemoveAll(filepath.Join(dir, "objects", "pack"))) },
		"the objects are gone":    func(o *origin, dir string) { must(o.T, os.RemoveAll(filepath.Join(dir, "objects"))) },
		"the references are gone": func(o *origin, dir string) { must(o.T, os.RemoveAll(filepath.Join(dir, "refs"))) },
		"the configuration is odd": func(o *origin, dir string) {
			must(o.T, os.WriteFile(filepath.Join(dir, "config"), []byte("[[["), 0o644))
		},
		"HEAD is empty":     func(o *origin, dir string) { must(o.T, os.WriteFile(filepath.Join(dir, "HEAD"), nil, 0o644)) },
		"the mark is empty": func(o *origin, dir string) { must(o.T, os.WriteFile(filepath.Join(dir, mirrorMark), nil, 0o644)) },
		"packed-refs is nonsense": func(o *origin, dir string) {
			must(o.T, os.WriteFile(filepath.Join(dir, "packed-refs"), []byte("\x00\n"), 0o644))
		},
		"packed-refs leads nowhere": func(o *origin, dir string) {
			must(o.T, os.WriteFile(filepath.Join(dir, "packed-refs"), []byte(strings.Repeat("1", 40)+" refs/remotes/origin/main\n"), 0o644))
		},
		"packs are cut":   func(o *origin, dir string) { cutFiles(o.T, dir, "*.pack") },
		"indexes are cut": func(o *origin, dir string) { cutFiles(o.T, dir, "*.idx") },
		"packs are indexed by nothing": func(o *origin, dir string) {
			indexes, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.idx"))
			must(o.T, err)
			for _, f := range indexes {
				must(o.T, os.Remove(f))
			}
		},
		"only the directory and the mark are there": func(o *origin, dir string) {
			must(o.T, os.RemoveAll(dir))
			must(o.T, os.MkdirAll(dir, 0o755))
			must(o.T, os.WriteFile(filepath.Join(dir, mirrorMark), nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			r := o.mirrorOf(o.remote(), 0)
			damage(o, r.Git.Common)
			r = o.mirrorOf(o.remote(), 0)
			tip := o.Run("rev-parse", "HEAD")
			resolves(t, r, "HEAD", tip)
			wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), tip)
			must(t, err)
			o.At(wt.Root()).Clean()
		})
	}
}

// cutFiles takes the last bytes off pack files.
func cutFiles(t *testing.T, dir, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "objects", "pack", pattern))
	must(t, err)
	for _, f := range files {
		must(t, os.Chmod(f, 0o644))
		info, err := os.Stat(f)
		must(t, err)
		must(t, os.Truncate(f, info.Size()-30))
	}
}

func TestForeignDirectoryIsNotUsedAsMirror(t *testing.T) {
	o := newOrigin(t)
	if _, err := Mirror(t.Context(), o.Root, o.remote(), MirrorOptions{}, o.env()); err == nil {
		t.Error("a work tree was made a mirror")
	}
	o.Clean()
}

// TestAMirrorThatWasJustBegunIsCompleted: a process was killed before the directory had its mark.
func TestAMirrorThatWasJustBegunIsCompleted(t *testing.T) {
	o := newOrigin(t)
	dir := filepath.Join(t.TempDir(), "begun.git")
	must(t, os.Mkdir(dir, 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "tmp_3212117940"), nil, 0o600))
	for range 2 {
		if _, err := Mirror(t.Context(), dir, o.remote(), MirrorOptions{}, o.env()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "tmp_3212117940")); err == nil {
		t.Error("the leftover is still there")
	}
}

func TestRemotesThatCanNotBeMirrored(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	dir := filepath.Dir(o.Root)
	made := func(args ...string) string {
		name := filepath.Join(dir, "x"+strings.Join(args, "")+".git")
		o.Run(append([]string{"init", "-q", "--bare", name}, args...)...)
		return name
	}
	for _, program := range []string{"", o.Git} {
		env := o.env()
		env.GitProgram = program
		for _, bad := range []string{made(), made("--object-format=sha256")} {
			_, err := Mirror(t.Context(), o.mirrorDir(), Repo{URL: "file://" + bad}, MirrorOptions{}, env)
			wantUnsupported(t, err)
		}
		_, err := Mirror(t.Context(), o.mirrorDir(), Repo{URL: "file://" + filepath.Join(dir, "nothing")}, MirrorOptions{}, env)
		wantError(t, err, ErrNotFound)
	}
	full := filepath.Join(dir, "full")
	o.Run("init", "-q", "--object-format=sha256", full)
	s := o.At(full)
	s.Write("a", "1\n")
	s.Commit()
	_, err := Mirror(t.Context(), o.mirrorDir(), Repo{URL: "file://" + full}, MirrorOptions{}, o.env())
	wantUnsupported(t, err)
	_, _, err = Branches(t.Context(), Repo{URL: "file://" + full})
	wantUnsupported(t, err)
	branches, head, err := Branches(t.Context(), Repo{URL: "file://" + made()})
	if err != nil || head != "" || len(branches) > 0 {
		t.Errorf("an empty remote has %v, %q, %v", branches, head, err)
	}
}

// mirrorDirVariable names the mirror that a copy of the test program updates.
const mirrorDirVariable = "GITOPS_TEST_MIRROR_DIR"

func TestAMirrorIsSharedByGoroutinesAndProcesses(t *testing.T) {
	if dir := os.Getenv(mirrorDirVariable); dir != "" {
		useMirror(t, dir, os.Getenv(mirrorDirVariable+"_URL"), os.Getenv(mirrorDirVariable+"_GIT"))
		return
	}
	o := newOrigin(t)
	self, err := os.Executable()
	must(t, err)
	for _, program := range []string{"", o.Git} {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { useMirror(t, o.mirrorDir(), o.url(), program) })
			all.Go(func() {
				cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
				cmd.Env = append(os.Environ(), mirrorDirVariable+"="+o.mirrorDir(), mirrorDirVariable+"_URL="+o.url(), mirrorDirVariable+"_GIT="+program)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		all.Wait()
	}
	m := o.At(o.mirrorDir())
	m.Fsck()
	if list := m.Run("worktree", "list"); strings.Count(list, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", list)
	}
}

// useMirror opens a mirror, and creates and removes some of its worktrees
// concurrently.
func useMirror(t *testing.T, dir, url, git string) {
	t.Helper()
	mirror, err := Mirror(t.Context(), dir, Repo{URL: url}, MirrorOptions{}, gitdir.Env{GitProgram: git, LockWait: 5 * time.Minute})
	if err != nil {
		t.Error(err)
		return
	}
	r := gitops.New(mirror)
	tip, err := r.Git.Resolve("HEAD")
	if err != nil {
		t.Error(err)
		return
	}
	var all sync.WaitGroup
	for n := range 4 {
		dir := filepath.Join(t.TempDir(), "same") // so that they compete for a name
		all.Go(func() {
			wt, err := r.AddWorktree(t.Context(), dir, tip)
			if err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(filepath.Join(dir, "new"), fmt.Append(nil, n), 0o644); err != nil {
				t.Error(err)
			}
			from, err := r.SnapshotOf(tip)
			if err != nil {
				t.Error(err)
				return
			}
			if cs, err := wt.Changes(t.Context(), from); err != nil || len(cs.Changes) != 1 {
				t.Errorf("changes are %v, %v", cs, err)
			}
			if err := r.RemoveWorktree(t.Context(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestCommitsToAMirrorsBranch(t *testing.T) {
	o := newOrigin(t)
	r := o.mirrorOf(o.remote(), 0)
	base := o.Run("rev-parse", "HEAD")
	commit := func(content string, from string, change func(*gitops.CommitOptions)) string {
		t.Helper()
		wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), from)
		must(t, err)
		o.At(wt.Root()).Write("a", content)
		opts := options(from)
		opts.Branch = "bot/x"
		change(&opts)
		done, err := wt.Commit(t.Context(), measure(t, wt, from), opts)
		must(t, err)
		if at, _, err := r.Git.Branch("bot/x"); err != nil || at != done.Hash {
			t.Fatalf("the branch is at %s, %v", at, err)
		}
		o.At(wt.Root()).Clean()
		must(t, r.RemoveWorktree(t.Context(), wt.Root()))
		return done.Hash
	}
	first := commit("new", base, func(o *gitops.CommitOptions) { o.MustNotExist = true })
	appended := commit("newer", first, func(*gitops.CommitOptions) {})
	replaced := commit("replaced", base, func(o *gitops.CommitOptions) { o.Replaces = appended })
	forced := commit("forced", base, func(o *gitops.CommitOptions) { o.Force = true })
	if forced == replaced {
		t.Error("nothing was made")
	}
	if _, err := r.Snapshot(t.Context()); err == nil {
		t.Error("a mirror has a work tree")
	}
	if _, err := r.Git.Head(); err == nil {
		t.Error("a mirror has something checked out")
	}
	resolves(t, o.mirrorOf(o.remote(), 0), "main", base)
	if at, _, err := r.Git.Branch("bot/x"); err != nil || at != forced {
		t.Errorf("the job's branch is at %s, %v", at, err)
	}
}

func TestWaitingForAMirrorEndsWithTheContext(t *testing.T) {
	o := newOrigin(t)
	must(t, os.MkdirAll(filepath.Dir(o.mirrorDir()), 0o755))
	lock, err := lockFile(t.Context(), o.mirrorDir()+".lock")
	must(t, err)
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Mirror(ctx, o.mirrorDir(), o.remote(), MirrorOptions{}, o.env())
	wantError(t, err, context.Canceled)
}

func TestOnlyWhatIsMissingIsFetched(t *testing.T) {
	o := newOrigin(t)
	posts := 0
	remote := o.overHTTP(func(r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
		}
	})
	o.mirrorOf(remote, 0)
	o.mirrorOf(remote, 0)
	o.mirrorOf(remote, 0)
	if posts != 4 { // each time the references, and once a pack
		t.Errorf("%d requests were sent", posts)
	}
}

func TestRemainsOfKilledRunsInMirrorExpire(t *testing.T) {
	o := newOrigin(t)
	dir := o.mirrorOf(o.remote(), 0).Git.Common
	m := o.At(dir)
	left := []string{"objects/pack/tmp_pack_1", "objects/pack/.tmp-1-pack-x.pack", "objects/pack/pack-y.pack", "objects/pack/pack-z.idx"}
	for _, name := range left {
		m.Write(name, "half")
	}
	m.Write("worktrees/gone/gitdir", "/nowhere/.git\n", "worktrees/here/gitdir", filepath.Join(o.Root, ".git")+"\n")
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	info, err := os.Stat(filepath.Join(dir, "worktrees", "gone"))
	must(t, err)
	for _, step := range []struct {
		later time.Duration
		left  bool
	}{{time.Hour, true}, {25 * time.Hour, false}} {
		env := o.env()
		env.Now = func() time.Time { return info.ModTime().Add(step.later) }
		_, err := Mirror(t.Context(), dir, o.remote(), MirrorOptions{}, env)
		must(t, err)
		for _, name := range append(left, "worktrees/gone") {
			if exists(name) != step.left {
				t.Errorf("after %s %s is there: %t", step.later, name, !step.left)
			}
		}
		if !exists("worktrees/here") {
			t.Errorf("after %s a worktree is gone", step.later)
		}
	}
}
