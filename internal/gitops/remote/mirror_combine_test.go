package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops"
)

// addPacks adds packs of one unneeded object each, and returns the last object.
func addPacks(t *testing.T, r *gitops.Repo, n int) (object string) {
	t.Helper()
	for range n {
		store, blob := memory.NewStorage(), &plumbing.MemoryObject{}
		blob.SetType(plumbing.BlobObject)
		_, err := blob.Write([]byte(randomText(100)))
		must(t, err)
		hash, err := store.SetEncodedObject(blob)
		must(t, err)
		var pack bytes.Buffer
		_, err = packfile.NewEncoder(&pack, store, false).Encode([]plumbing.Hash{hash}, 0)
		must(t, errors.Join(err, storePack(t.Context(), r.Git.Objects, &pack)))
		object = hash.String()
	}
	return object
}

func packsOf(t *testing.T, dir string) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	must(t, err)
	return packs
}

func TestPacksOfAMirrorAreCombined(t *testing.T) {
	o := newOrigin(t)
	before := o.mirrorOf(o.remote(), 0)
	dir := before.Git.Common
	base := o.Run("rev-parse", "HEAD")
	wt, err := before.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), base)
	must(t, err)
	m := o.At(dir)
	last := addPacks(t, before, maxNewPacks-1)
	o.mirrorOf(o.remote(), 0)
	if n := len(packsOf(t, dir)); n != maxNewPacks {
		t.Fatalf("%d packs were combined to %d", maxNewPacks, n)
	}
	o.advance("main", "a", "3\n")
	o.mirrorOf(o.remote(), 0)
	if n := len(packsOf(t, dir)); n > 3 {
		t.Errorf("%d packs are left", n)
	}
	m.Run("cat-file", "-e", last)
	o.At(wt.Root()).Clean()
	for _, r := range []*gitops.Repo{before, wt} { // opened before
		_, err := r.SnapshotOf(base)
		must(t, err)
	}
	if cs := measure(t, wt, base); len(cs.Changes) > 0 {
		t.Errorf("the worktree has changes: %v", cs.Changes)
	}
}

// TestUnneededObjectsOfAMirrorAreRemoved follows a mirror of depth 1 for weeks.
func TestUnneededObjectsOfAMirrorAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	env := o.env()
	start := time.Now()
	after := func(days int) *gitops.Repo {
		t.Helper()
		env.Now = func() time.Time { return start.Add(time.Duration(days) * 24 * time.Hour) }
		git, err := Mirror(t.Context(), o.mirrorDir(), o.remote(), MirrorOptions{Depth: 1}, env)
		must(t, err)
		m := o.At(git.Common)
		m.Fsck()
		resolves(t, gitops.New(git), "main", o.at("main"))
		return gitops.New(git)
	}
	r := after(0)
	m := o.At(r.Git.Common)
	unneeded := o.Run("rev-parse", "HEAD:a")
	inUse := o.advance("main", "a", "in use\n")
	_, err := after(1).AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), inUse)
	must(t, err)
	o.advance("main", "a", "newest\n")
	o.bare.Run("branch", "-D", "side")
	o.bare.Run("tag", "-d", "v1")
	for _, step := range []struct {
		days  int
		there bool
	}{{2, true}, {8, true}, {16, true}, {24, false}} {
		after(step.days)
		_, err := m.Command("cat-file", "-e", unneeded).Output()
		if there := err == nil; there != step.there {
			t.Errorf("after %d days it is %t that an unneeded file is there", step.days, there)
		}
		m.Run("rev-list", "--objects", inUse)
	}
	shallow, err := os.ReadFile(filepath.Join(m.Root, "shallow"))
	must(t, err)
	if got := strings.Fields(string(shallow)); len(got) != 2 || !slices.Contains(got, inUse) {
		t.Errorf("shallow commits are %v, want that of the worktree and that of main", got)
	}
}

// gitInstead returns a program that runs a shell script for git repack, and git for all else.
func (o *origin) gitInstead(script string) string {
	o.T.Helper()
	name := filepath.Join(o.T.TempDir(), "git")
	must(o.T, os.WriteFile(name, []byte("#!/bin/sh\ncase \" $* \" in *\" repack \"*) "+script+";; esac\nexec "+o.Git+" \"$@\"\n"), 0o755))
	return name
}

func TestAMirrorWhosePacksCanNotBeCombined(t *testing.T) {
	o := newOrigin(t)
	r := o.mirrorOf(o.remote(), 0)
	addPacks(t, r, maxNewPacks)
	env := o.env()
	tries := filepath.Join(t.TempDir(), "tries")
	env.GitProgram = o.gitInstead("echo >> " + tries + "; exit 129") // an option that it does not know
	for range 2 {
		_, err := Mirror(t.Context(), o.mirrorDir(), o.remote(), MirrorOptions{}, env)
		must(t, err)
	}
	if made, err := os.ReadFile(tries); err != nil || len(made) != 1 {
		t.Errorf("%d tries, %v", len(made), err)
	}

	addPacks(t, r, maxNewPacks+1)
	ctx, cancel := context.WithCancel(t.Context())
	hangs := filepath.Join(t.TempDir(), "hangs")
	must(t, unix.Mkfifo(hangs, 0o600))
	go func() {
		defer cancel()
		_, _ = os.ReadFile(hangs) // until it has started
	}()
	env.GitProgram = o.gitInstead("echo > " + hangs + "; sleep 1000 & wait")
	_, err := Mirror(ctx, o.mirrorDir(), o.remote(), MirrorOptions{}, env)
	must(t, err)              // the mirror is complete
	o.mirrorOf(o.remote(), 0) // and is not locked
}

// TestAKilledRunLeavesAUsableMirror kills a run while git combines the packs of a mirror.
func TestAKilledRunLeavesAUsableMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	if dir := os.Getenv(mirrorDirVariable); dir != "" {
		useMirror(t, dir, os.Getenv(mirrorDirVariable+"_URL"), os.Getenv(mirrorDirVariable+"_GIT"))
		return
	}
	o := newOrigin(t)
	self, err := os.Executable()
	must(t, err)
	o.advance("main", "large", randomText(20_000))
	remote := o.overHTTP(nil)
	wait := filepath.Join(t.TempDir(), "wait") // holds up the git program, which goes on
	must(t, unix.Mkfifo(wait, 0o600))
	for name, script := range map[string]string{
		"before":   "kill -9 $PPID; read x < " + wait + "; exit 1",
		"meantime": "kill -9 $PPID; read x < " + wait,
		"after":    o.Git + ` "$@"; kill -9 $PPID; read x < ` + wait + "; exit",
	} {
		addPacks(t, o.mirrorOf(remote, 0), maxNewPacks+1)
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), mirrorDirVariable+"="+o.mirrorDir(), mirrorDirVariable+"_URL="+o.url(), mirrorDirVariable+"_GIT="+o.gitInstead(script))
		if out, err := cmd.CombinedOutput(); !killed(err) {
			t.Fatalf("%s: the run was not killed: %v\n%s", name, err, out)
		}
		soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := Mirror(soon, o.mirrorDir(), remote, MirrorOptions{}, o.env())
		cancel()
		wantError(t, err, context.DeadlineExceeded)
		must(t, os.WriteFile(wait, []byte("\n"), 0o600))
		o.sent.Store(0)
		o.mirrorOf(remote, 0)
		if n := o.sent.Load(); n > 5_000 {
			t.Errorf("%s: %d bytes were fetched again", name, n)
		}
	}
}

// TestGitIsKilledWhileItCombinesPacks kills git, and the run, at each change of the directory of packs.
func TestGitIsKilledWhileItCombinesPacks(t *testing.T) {
	if dir := os.Getenv(mirrorDirVariable); dir != "" {
		useMirror(t, dir, os.Getenv(mirrorDirVariable+"_URL"), os.Getenv(mirrorDirVariable+"_GIT"))
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil || !nightly.On() {
		t.Skip("strace is not on PATH, or it is not the nightly run")
	}
	o := newOrigin(t)
	self, err := os.Executable()
	must(t, err)
	o.advance("main", "large", randomText(20_000))
	remote := o.overHTTP(nil)
	for _, call := range []string{"/^rename", "/^unlink", "fsync"} {
		finished := filepath.Join(t.TempDir(), "finished")
		for nth := 1; nth < 200; nth++ {
			r := o.mirrorOf(remote, 0)
			if state, err := readMirrorState(o.mirrorDir()); err == nil {
				state.combined = 0 // so that what the last one left is combined
				must(t, state.write(o.mirrorDir()))
			}
			o.mirrorOf(remote, 0)
			addPacks(t, r, maxNewPacks+1)
			inject := fmt.Sprintf("%s -f -qq -o /dev/null --inject=%s:signal=SIGKILL:when=%d ", strace, call, nth)
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), mirrorDirVariable+"="+o.mirrorDir(), mirrorDirVariable+"_URL="+o.url(),
				mirrorDirVariable+"_GIT="+o.gitInstead(inject+o.Git+` "$@" && touch `+finished+"; kill -9 $PPID; exit"))
			if out, err := cmd.CombinedOutput(); !killed(err) {
				t.Fatalf("%s %d: the run was not killed: %v\n%s", call, nth, err, out)
			}
			o.sent.Store(0)
			o.mirrorOf(remote, 0)
			if n := o.sent.Load(); n > 5_000 {
				t.Errorf("%s %d: %d bytes were fetched again", call, nth, n)
			}
			if os.Remove(finished) == nil {
				t.Logf("%s: killed %d times", call, nth-1)
				break
			}
		}
	}
}

// killed reports whether a program was killed.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && !exit.Exited()
}
