package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// packed is a repository whose objects are in one pack, which the opened
// repository has already read.
func packed(t *testing.T) (*gittest.Sandbox, *Repo, string) {
	t.Helper()
	s := gittest.NewSandbox(t)
	s.Write("a", strings.Repeat("a\n", 1000), "d/b", "b\n")
	base := s.Commit()
	s.Run("repack", "-adq")
	r := opened(s)
	r.Git.Env.LockWait = 5 * time.Minute // git gc has locks, too
	if _, err := r.Git.Objects.RootTree(plumbing.NewHash(base)); err != nil {
		t.Fatal(err)
	}
	return s, r, base
}

// repack moves all objects to a new pack.
func repack(s *gittest.Sandbox) {
	s.T.Helper()
	before := packs(s)
	s.Write("more", before)
	s.Run("add", "more")
	s.Run("commit", "-q", "-m", "more")
	s.Run("gc", "-q", "--prune=now")
	if packs(s) == before {
		s.T.Fatal("the pack is the same as before")
	}
}

func packs(s *gittest.Sandbox) string {
	s.T.Helper()
	names, err := filepath.Glob(filepath.Join(s.Root, ".git/objects/pack/*.pack"))
	must(s.T, err)
	return strings.Join(names, "\n")
}

func TestObjectsAreFoundAfterTheRepositoryWasRepacked(t *testing.T) {
	for name, read := range map[string]func(r *Repo, base plumbing.Hash, blob plumbing.Hash) error{
		"commit": func(r *Repo, base, _ plumbing.Hash) error { _, err := r.Git.Objects.RootTree(base); return err },
		"blob":   func(r *Repo, _, blob plumbing.Hash) error { _, err := r.Git.Objects.Blob(blob); return err },
		"size":   func(r *Repo, _, blob plumbing.Hash) error { _, err := r.Git.Objects.Size(blob); return err },
		"short":  func(r *Repo, base, _ plumbing.Hash) error { _, err := r.Git.Resolve(base.String()[:10]); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, r, base := packed(t)
			blob := plumbing.NewHash(s.Run("rev-parse", "HEAD:a"))
			repack(s)
			must(t, read(r, plumbing.NewHash(base), blob))
			repack(s)
			must(t, read(r, plumbing.NewHash(base), blob))
		})
	}
}

func TestJobSurvivesRepack(t *testing.T) {
	for _, program := range nightly.Sample([]bool{true, false}, 2, 0) {
		s, r, base := packed(t)
		if !program {
			r.Git.Env.GitProgram = ""
		}
		bare := s.At(filepath.Join(t.TempDir(), "remote.git"))
		must(t, os.MkdirAll(bare.Root, 0o755))
		bare.Run("init", "-q", "--bare")
		s.Run("push", "-q", bare.Root, "main")
		from, err := r.SnapshotOf(base)
		must(t, err)
		repack(s)
		wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), base)
		must(t, err)
		repack(s)
		s.At(wt.Root()).Write("a", "changed\n", "d/new", "new\n")
		cs, err := wt.Changes(t.Context(), from)
		must(t, err)
		repack(s)
		opts := options(base)
		opts.Branch, opts.MustNotExist = "bot/x", true
		done, err := wt.Commit(t.Context(), cs, opts)
		must(t, err)
		repack(s)
		push := remote.PushOptions{Remote: remote.Repo{URL: "file://" + bare.Root}, Commit: done.Hash, Branch: "bot/x"}
		must(t, remote.Push(t.Context(), &gitdir.Dir{Objects: r.Git.Objects, Env: envOf(s)}, push))
		repack(s)
		must(t, r.RemoveWorktree(t.Context(), wt.Root()))
		s.Clean()
		bare.Fsck()
	}
}

func TestManyJobsDuringGarbageCollection(t *testing.T) {
	s, r, base := packed(t)
	wanted := int32(4)
	if testing.Short() {
		wanted = 2
	}
	collected, stop := collect(t, s)
	var jobs sync.WaitGroup
	for i := range 3 {
		jobs.Go(func() {
			for n := 0; n < 2 || collected.Load() < wanted; n++ {
				// In its own directory, which the collector removes when it is empty.
				branch := fmt.Sprintf("bot/%d/%d", i, n)
				if err := oneJob(t, r, base, branch); err != nil {
					t.Errorf("%s: %v", branch, err)
					return
				}
			}
		})
	}
	jobs.Wait()
	stop()
	s.Fsck()
}

// collect repacks a repository and collects its garbage until it is stopped, and counts.
func collect(t *testing.T, s *gittest.Sandbox) (collected *atomic.Int32, stop func()) {
	t.Helper()
	collected = new(atomic.Int32)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
			}
			for _, args := range [][]string{{"commit", "-q", "--allow-empty", "-m", "more"}, {"gc", "-q"}, {"repack", "-adq"}, {"pack-refs", "--all"}} {
				if out, err := s.Command(args...).CombinedOutput(); err != nil {
					t.Logf("git %s: %v %s", args[0], err, out) // it may find a branch locked
				}
			}
			collected.Add(1)
		}
	}()
	return collected, func() { close(over); <-done }
}

// TestWorktreesDuringGarbageCollection adds and removes many worktrees without git. git gc
// removes incomplete registrations of worktrees, and its temporary files come and go.
func TestWorktreesDuringGarbageCollection(t *testing.T) {
	s, r, base := packed(t)
	r.Git.Env.GitProgram = ""
	wanted := int32(nightly.Count(15, 200, 200))
	if testing.Short() {
		wanted = 5
	}
	collected, stop := collect(t, s)
	trees := t.TempDir()
	var jobs sync.WaitGroup
	for i := range 4 {
		jobs.Go(func() {
			for n := 0; collected.Load() < wanted && !t.Failed(); n++ {
				dir := filepath.Join(trees, fmt.Sprintf("%d-%d", i, n))
				if _, err := r.AddWorktree(t.Context(), dir, base); err != nil {
					t.Error(err)
				}
				if err := r.RemoveWorktree(t.Context(), dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	jobs.Wait()
	stop()
	s.Fsck()
	if left, _ := filepath.Glob(filepath.Join(s.Root, ".git/objects", objectdb.TempTree+"*")); left != nil {
		t.Errorf("left over: %q", left)
	}
}

// TestCommitDespitePruning removes temporary files as git gc --prune=now does.
func TestCommitDespitePruning(t *testing.T) {
	for _, files := range []int{1, 100} {
		s, r, base := packed(t)
		from, err := r.SnapshotOf(base)
		must(t, err)
		for i := range files {
			s.Write(fmt.Sprint("new/", i), fmt.Sprint(i))
		}
		cs, err := r.Changes(t.Context(), from)
		must(t, err)
		opts := options(base)
		opts.Branch, opts.MustNotExist = "bot/x", true
		var removed atomic.Int32
		prune := func() {
			for _, pattern := range []string{"tmp_*", "pack/tmp_*"} {
				found, _ := filepath.Glob(filepath.Join(s.Root, ".git/objects", pattern))
				for _, name := range found {
					if os.Remove(name) == nil {
						removed.Add(1)
					}
				}
			}
		}
		signed := 0
		opts.Sign = func(context.Context, []byte) (string, error) { // the pack is not finished yet
			signed++
			if signed == 1 {
				prune()
			}
			return "", nil
		}
		var pruning sync.WaitGroup
		done := make(chan struct{})
		if files == 1 { // loose objects are written one after the other
			pruning.Go(func() {
				for removed.Load() == 0 {
					select {
					case <-done:
						return
					default:
						prune()
					}
				}
			})
		}
		for n := 0; n == 0 || files == 1 && removed.Load() == 0 && n < 1000; n++ {
			opts.Branch = fmt.Sprint("bot/", n)
			_, err = r.Commit(t.Context(), cs, opts)
			must(t, err)
		}
		close(done)
		pruning.Wait()
		if removed.Load() == 0 {
			t.Errorf("%d files: no temporary file was removed", files)
		}
		s.Fsck()
	}
}

// oneJob performs the git operations of a job.
func oneJob(t *testing.T, r *Repo, base, branch string) error {
	t.Helper()
	from, err := r.SnapshotOf(base)
	if err != nil {
		return err
	}
	wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), base)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(wt.Root(), "a"), []byte(branch), 0o644); err != nil {
		return err
	}
	cs, err := wt.Changes(t.Context(), from)
	if err != nil {
		return err
	}
	opts := options(base)
	opts.Branch, opts.MustNotExist = branch, true
	if _, err := wt.Commit(t.Context(), cs, opts); err != nil {
		return err
	}
	if _, exists, err := r.Git.Branch(branch); err != nil || !exists {
		return fmt.Errorf("the branch exists: %t, %w", exists, err)
	}
	return r.RemoveWorktree(t.Context(), wt.Root())
}

func TestAPackWithoutAnIndexIsLeftAlone(t *testing.T) {
	s, _, base := packed(t)
	must(t, os.WriteFile(filepath.Join(s.Root, ".git/objects/pack/pack-"+strings.Repeat("ab", 20)+".pack"), []byte("PACK"), 0o644))
	if _, err := opened(s).Git.Objects.RootTree(plumbing.NewHash(base)); err != nil {
		t.Error(err)
	}
}

func TestAPipeNamedLikeAPackIsAnError(t *testing.T) {
	s, _, base := packed(t)
	for _, end := range []string{".pack", ".idx"} {
		s.Pipe(".git/objects/pack/pack-" + strings.Repeat("ab", 20) + end)
	}
	if _, err := opened(s).Git.Objects.RootTree(plumbing.NewHash(base)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingObjectIsCachedAsMissing(t *testing.T) {
	_, r, _ := packed(t)
	none := plumbing.NewHash(strings.Repeat("ab", 20))
	if _, err := r.Git.Objects.Read(plumbing.AnyObject, none); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("the error is %v", err)
	}
	if _, err := r.Git.Objects.Size(none); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("the error is %v", err)
	}
}

// TestUnreferencedObjectsSurvivePruning runs git gc --prune=now after the objects of a commit were
// written, and before its branch is created.
func TestUnreferencedObjectsSurvivePruning(t *testing.T) {
	s, r, base := packed(t)
	from, err := r.SnapshotOf(base)
	must(t, err)
	s.Write("new", "new\n")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	opts := options(base)
	opts.Branch, opts.MustNotExist = "bot/x", true
	c := &committing{repo: r, cs: cs, o: opts}
	must(t, c.check())
	goal, err := c.target()
	must(t, err)
	w, err := store.New(r.Git.Objects, r.packing)
	must(t, err)
	commit, _, files, err := c.store(t.Context(), r.Git.Objects, w)
	must(t, err)
	s.Run("gc", "-q", "--prune=now")
	must(t, c.publish(t.Context(), goal, gitdir.ReflogEntry{New: commit, By: opts.Committer.String()}, files))
	w.Close()
	s.Fsck()
	if left, _ := filepath.Glob(filepath.Join(s.Root, ".git/objects/pack/*.keep")); left != nil {
		t.Errorf("left: %q", left)
	}
}

func TestManyNewFilesAreCommittedInOnePack(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("old", "old\n")
	base := s.Commit()
	for i := range 200 {
		s.Write(fmt.Sprintf("dir%d/file%d", i%7, i), strings.Repeat("line\n", i/2)) // each content twice
	}
	s.Write("large", strings.Repeat("x", 1<<20+1))
	r := opened(s)
	cs := measure(t, r, base)
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	s.Fsck()
	s.Clean()
	if loose := s.Run("count-objects"); !strings.HasPrefix(loose, "4 objects") { // the first commit, and large
		t.Errorf("loose objects: %s", loose)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Join(s.Root, ".git/objects/pack"))
	must(t, err)
	for _, e := range entries {
		names = append(names, filepath.Ext(e.Name()))
	}
	if !slices.Equal(names, []string{".idx", ".pack"}) {
		t.Errorf("packs: %v", names)
	}
	s.Run("add", "-A")
	if want := s.Run("write-tree"); got.Tree != want {
		t.Errorf("tree %s, want %s", got.Tree, want)
	}
	s.Write("dir1/file1", "changed\n") // this repository reads its own pack
	_, err = r.Patch(t.Context(), measure(t, r, got.Hash))
	must(t, err)
}
