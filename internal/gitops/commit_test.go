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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestCommitHashMatchesGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	s.Write("a", "b\n")
	r := opened(s)
	o := CommitOptions{
		Parent:    base,
		Message:   "subject\n\nbody with ümlaut\n\nMillhand-Run: 1",
		Author:    Signature{Name: "Ann Author", Email: "ann@example.com", When: time.Unix(1234567890, 0).In(time.FixedZone("", -(3*60+30)*60))},
		Committer: testAuthor,
	}
	got, err := r.Commit(t.Context(), measure(t, r, base), o)
	must(t, err)
	cmd := s.Command("commit-tree", "-p", base, "-F", "-", got.Tree)
	cmd.Stdin = strings.NewReader(o.Message + "\n")
	cmd.Env = append(cmd.Env,
		"GIT_AUTHOR_NAME=Ann Author", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=1234567890 -0330",
		"GIT_COMMITTER_NAME=Jo", "GIT_COMMITTER_EMAIL=jo@example.com", "GIT_COMMITTER_DATE=1714972089 +0200")
	want, err := cmd.Output()
	must(t, err)
	if got.Hash != strings.TrimSpace(string(want)) || got.Branch != "main" {
		t.Errorf("got %+v, git makes %s", got, want)
	}
	if log := s.Run("reflog", "-1", "--format=%gd %gs %gn", "main"); log != "main@{0} commit: subject Jo" {
		t.Errorf("reflog: %s", log)
	}
	if log := s.Run("reflog", "-1", "--format=%H %gs"); log != got.Hash+" commit: subject" {
		t.Errorf("reflog of HEAD: %s", log)
	}
}

func TestSignaturesAndMessagesAreMadeSafe(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	r := opened(s)
	o := options("")
	o.Author = Signature{Name: " Evil <x>\ncommitter y ", Email: "<a@b>\n", When: gittest.TestTime}
	o.Message = "bad \xff byte\x00 and NUL\n\n\n"
	got, err := r.Commit(t.Context(), measure(t, r, ""), o)
	must(t, err)
	s.Fsck()
	want := "Evil xcommitter y|a@b|bad \uFFFD byte and NUL"
	if text := s.Run("log", "-1", "--format=%an|%ae|%B", got.Hash); strings.TrimSpace(text) != want {
		t.Errorf("got %q", text)
	}
	o.Author.Name = " <> "
	if _, err := r.Commit(t.Context(), measure(t, r, ""), o); err == nil || !strings.Contains(err.Error(), "author") {
		t.Errorf("an author without name: got %v", err)
	}
}

func TestUserChangesAreNotCommitted(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("mine", "1\n", "staged", "1\n", "both", "1\n", "job", "1\n", "doomed", "1\n", "gone", "1\n")
	base := s.Commit()
	s.Write("mine", "user\n", "staged", "user staged\n", "new-staged", "user\n", "untracked", "user\n", "untracked2", "one\ntwo\n")
	s.Run("add", "staged", "new-staged")
	s.Write("both", "user\n")
	s.Remove("gone")
	r := opened(s)
	before := s.StatusPaths()
	from, err := r.Snapshot(t.Context())
	must(t, err)

	s.Write("job", "2\n", "both", "user\njob\n", "untracked2", "one\n2\n", "added", "x\n")
	s.Remove("doomed")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	want := []state.Change{
		{Path: "added", Kind: state.Added, Added: 1},
		{Path: "both", Kind: state.Modified, Added: 1},
		{Path: "doomed", Kind: state.Deleted, Removed: 1},
		{Path: "job", Kind: state.Modified, Added: 1, Removed: 1},
		{Path: "untracked2", Kind: state.Modified, Added: 1, Removed: 1},
	}
	if diff := cmp.Diff(want, cs.Changes); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	s.Fsck()
	changed := s.Run("diff-tree", "-r", "--name-status", base, got.Hash)
	if want := "A\tadded\nM\tboth\nD\tdoomed\nM\tjob\nA\tuntracked2"; changed != want {
		t.Errorf("committed:\n%s", changed)
	}
	after := s.StatusPaths()
	committed := []string{"both", "untracked2"}
	left := slices.DeleteFunc(before, func(p string) bool { return slices.Contains(committed, p) })
	if diff := cmp.Diff(left, after); diff != "" {
		t.Errorf("what was dirty (-before +after):\n%s", diff)
	}
	if staged := s.Run("diff", "--cached", "--name-only"); staged != "new-staged\nstaged" {
		t.Errorf("staged: %s", staged)
	}
}

func TestUntouchedUserChangesAreNoChange(t *testing.T) {
	for _, f := range nightly.Sample(fixtures, 6, 4) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s, base := f.start(t)
			f.job(s)
			r := opened(s)
			from, err := r.Snapshot(t.Context())
			must(t, err)
			cs, err := r.Changes(t.Context(), from)
			must(t, err)
			if len(cs.Changes)+len(cs.Refused) > 0 {
				t.Errorf("changes: %+v", cs)
			}
			if _, err := r.Commit(t.Context(), cs, options(base)); !errors.Is(err, ErrNothingToCommit) {
				t.Errorf("commit: got %v", err)
			}
		})
	}
}

func TestACommitThatChangesNothingIsRefused(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	s.Write("a", "user\n")
	r := opened(s)
	from, err := r.Snapshot(t.Context())
	must(t, err)
	s.Write("a", "a\n") // back to what the parent has
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	if len(cs.Changes) != 1 {
		t.Fatalf("changes: %+v", cs.Changes)
	}
	if _, err := r.Commit(t.Context(), cs, options(base)); !errors.Is(err, ErrNothingToCommit) {
		t.Errorf("got %v", err)
	}
}

// worktree creates a linked worktree for a job.
func worktree(t *testing.T, s *gittest.Sandbox, r *Repo, base string) (*gittest.Sandbox, *Repo) {
	t.Helper()
	dir := filepath.Join(s.Home, "job")
	wt, err := r.AddWorktree(t.Context(), dir, base)
	must(t, err)
	return s.At(dir), wt
}

func TestAgentCommitsAreSquashed(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, agent := range map[string]func(*gittest.Sandbox){
		"on the detached HEAD": func(s *gittest.Sandbox) { s.Commit() },
		"in two commits":       func(s *gittest.Sandbox) { s.Commit(); s.Write("a", "2\n"); s.Commit() },
		"and packed all":       func(s *gittest.Sandbox) { s.Commit(); s.Run("gc", "-q", "--prune=now") },
		"on a new orphan": func(s *gittest.Sandbox) {
			s.Run("checkout", "-q", "--orphan", "wild")
			s.Commit()
			s.Run("checkout", "-q", "--detach")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write("a", "1\n", "b", "1\n")
			base := s.Commit()
			in, wt := worktree(t, s, opened(s), base)
			from, err := wt.SnapshotOf(base)
			must(t, err)
			in.Write("a", "agent\n", "n", "n\n")
			agent(in)
			in.Write("b", "later\n")
			want := in.AddedTree()
			cs, err := wt.Changes(t.Context(), from)
			must(t, err)
			o := options(base)
			o.Branch, o.MustNotExist = "millhand/x", true
			got, err := wt.Commit(t.Context(), cs, o)
			must(t, err)
			if parent := s.Run("rev-parse", "millhand/x^"); parent != base || got.Tree != want {
				t.Errorf("parent %s, want %s; tree %s, want %s", parent, base, got.Tree, want)
			}
			in.Clean()
		})
	}
}

// The worktree of a job moves on to the commit, unless it is removed next.
func TestAWorktreeMovesOnToItsCommit(t *testing.T) {
	for _, discarded := range []bool{false, true} {
		s := gittest.NewSandbox(t)
		s.Write("a", "1\n")
		base := s.Commit()
		in, wt := worktree(t, s, opened(s), base)
		from, err := wt.SnapshotOf(base)
		must(t, err)
		in.Write("a", "2\n")
		cs, err := wt.Changes(t.Context(), from)
		must(t, err)
		o := options(base)
		o.Branch, o.MustNotExist, o.Discarded = "millhand/x", true, discarded
		got, err := wt.Commit(t.Context(), cs, o)
		must(t, err)
		want := got.Hash
		if discarded {
			want = base
		}
		if head, branch := in.Run("rev-parse", "HEAD"), s.Run("rev-parse", "millhand/x"); head != want || branch != got.Hash {
			t.Errorf("discarded %v: HEAD is %s, want %s; the branch %s", discarded, head, want, branch)
		}
	}
}

func TestRemainsOfAgentDoNotLoseItsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, agent := range map[string]func(s *gittest.Sandbox, wt *Repo){
		"a lock on the index":       func(_ *gittest.Sandbox, wt *Repo) { must(t, os.WriteFile(wt.Git.Own+"/index.lock", nil, 0o644)) },
		"a lock on HEAD":            func(_ *gittest.Sandbox, wt *Repo) { must(t, os.WriteFile(wt.Git.Own+"/HEAD.lock", nil, 0o644)) },
		"no index":                  func(_ *gittest.Sandbox, wt *Repo) { must(t, os.Remove(wt.Git.Own+"/index")) },
		"a damaged index":           func(_ *gittest.Sandbox, wt *Repo) { must(t, os.WriteFile(wt.Git.Own+"/index", []byte("DIRC"), 0o644)) },
		"a split index":             func(s *gittest.Sandbox, _ *Repo) { s.Run("update-index", "--split-index") },
		"a damaged HEAD":            func(_ *gittest.Sandbox, wt *Repo) { must(t, os.WriteFile(wt.Git.Own+"/HEAD", nil, 0o644)) },
		"no git directory":          func(_ *gittest.Sandbox, wt *Repo) { must(t, os.RemoveAll(wt.Git.Own)) },
		"another .git":              func(s *gittest.Sandbox, _ *Repo) { s.Remove(".git"); s.Run("init", "-q"); s.Commit() },
		"a merge that is under way": func(_ *gittest.Sandbox, wt *Repo) { must(t, os.WriteFile(wt.Git.Own+"/MERGE_HEAD", nil, 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write("a", "1\n", "b", "1\n", ".gitignore", "*.o\n")
			base := s.Commit()
			r := opened(s)
			in, wt := worktree(t, s, r, base)
			in.Write("a", "2\n", "n", "n\n", "n.o", "no\n")
			want := in.AddedTree()
			agent(in, wt)
			o := options(base)
			o.Branch, o.MustNotExist = "millhand/x", true
			got, err := wt.Commit(t.Context(), measure(t, wt, base), o)
			must(t, err)
			if got.Tree != want || s.Run("rev-parse", "millhand/x") != got.Hash {
				t.Errorf("got %+v, want tree %s", got, want)
			}
			must(t, r.RemoveWorktree(t.Context(), wt.Root()))
			s.Clean()
		})
	}
}

func TestBranchCheckedOutByTheAgentIsNotMoved(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	in, wt := worktree(t, s, opened(s), base)
	in.Run("checkout", "-q", "-b", "agents")
	in.Write("a", "2\n")
	agents := in.Commit()
	o := options(base)
	o.Branch = "millhand/x"
	got, err := wt.Commit(t.Context(), measure(t, wt, base), o)
	must(t, err)
	if head, err := wt.Git.Head(); err != nil || head.Branch != "agents" || head.Hash != agents {
		t.Errorf("HEAD: %+v, %v", head, err)
	}
	if at := s.Run("rev-parse", "millhand/x", "main"); at != got.Hash+"\n"+base {
		t.Errorf("branches: %s", at)
	}
}

func TestInPlaceCommitReplacesAgentCommit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	r := opened(s)
	s.Write("a", "2\n", "n", "n\n")
	agents := s.Commit()
	cs := measure(t, r, base)
	if _, err := r.Commit(t.Context(), cs, options(base)); !errors.Is(err, gitdir.ErrConflict) {
		t.Errorf("without Replaces: got %v", err)
	}
	o := options(base)
	o.Replaces = agents
	got, err := r.Commit(t.Context(), cs, o)
	must(t, err)
	if log := s.Run("log", "--format=%H"); log != got.Hash+"\n"+base {
		t.Errorf("log: %s", log)
	}
	s.Clean()
}

func TestCommitChecksBranch(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Run("branch", "at-base")
	s.Run("branch", "packed-at-base")
	s.Run("branch", "dir/taken")
	s.Write("a", "2\n")
	s.Commit()
	s.Run("branch", "elsewhere")
	s.Run("branch", "packed-elsewhere")
	other := s.Run("rev-parse", "HEAD")
	s.Run("pack-refs", "--all")
	s.Run("branch", "-f", "at-base", base) // loose again
	s.Run("reset", "-q", "--hard", base)
	s.Run("checkout", "-q", "--detach")
	s.Write("a", "job\n")
	r := opened(s)
	cs := measure(t, r, base)
	commit := func(o CommitOptions) error {
		o.Message, o.Author, o.Committer, o.Parent = "x", testAuthor, testAuthor, base
		_, err := r.Commit(t.Context(), cs, o)
		return err
	}
	for _, test := range []struct {
		o    CommitOptions
		want error
	}{
		{CommitOptions{Branch: "at-base", MustNotExist: true}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "packed-at-base", MustNotExist: true}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "elsewhere"}, gitdir.ErrConflict},
		{CommitOptions{Branch: "packed-elsewhere"}, gitdir.ErrConflict},
		{CommitOptions{Branch: "elsewhere", Replaces: base}, gitdir.ErrConflict},
		{CommitOptions{Branch: "missing", Replaces: base}, gitdir.ErrConflict},
		{CommitOptions{Branch: "dir"}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "elsewhere/below"}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "packed-elsewhere/below", MustNotExist: true}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "at-base"}, nil},
		{CommitOptions{Branch: "packed-at-base"}, nil},
		{CommitOptions{Branch: "elsewhere", Replaces: other}, nil},
		{CommitOptions{Branch: "packed-elsewhere", Replaces: other}, nil},
		{CommitOptions{Branch: "new"}, nil},
		{CommitOptions{Branch: "new/er", MustNotExist: true}, gitdir.ErrBranchExists},
		{CommitOptions{Branch: "deep/er/new", MustNotExist: true}, nil},
	} {
		if err := commit(test.o); !errors.Is(err, test.want) {
			t.Errorf("%+v: got %v, want %v", test.o, err, test.want)
		}
	}
	if commit(CommitOptions{Branch: "bad..name"}) == nil || commit(CommitOptions{Replaces: "main"}) == nil {
		t.Error("a bad name or hash is accepted")
	}
	if locks, _ := filepath.Glob(filepath.Join(s.Root, ".git/refs/heads/*.lock")); locks != nil {
		t.Errorf("locks that remain: %v", locks)
	}
	s.Fsck()
}

func TestBranchReplacesEmptyDirectories(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	must(t, os.MkdirAll(filepath.Join(s.Root, ".git/refs/heads/x/y"), 0o755))
	s.Write("a", "2\n")
	r := opened(s)
	o := options(base)
	o.Branch, o.MustNotExist = "x", true
	got, err := r.Commit(t.Context(), measure(t, r, base), o)
	must(t, err)
	if at := s.Run("rev-parse", "x"); at != got.Hash {
		t.Errorf("x is at %s", at)
	}
}

func TestForeignLocksAreRespected(t *testing.T) {
	for _, held := range []string{"index.lock", "refs/heads/main.lock"} {
		s := gittest.NewSandbox(t)
		s.Write("a", "1\n")
		base := s.Commit()
		s.Write("a", "2\n")
		r := opened(s)
		r.Git.Env.Now = func() time.Time { return time.Now().Add(time.Hour) }
		name := filepath.Join(s.Root, ".git", held)
		must(t, os.WriteFile(name, []byte("theirs"), 0o644))
		_, err := r.Commit(t.Context(), measure(t, r, base), options(base))
		if !errors.Is(err, gitdir.ErrConflict) || !strings.Contains(err.Error(), held+" exists for 1h0m") {
			t.Errorf("%s: got %v", held, err)
		}
		if data, err := os.ReadFile(name); err != nil || string(data) != "theirs" {
			t.Errorf("%s: lock holds %q, %v", held, data, err)
		}
		if s.Run("rev-parse", "HEAD") != base {
			t.Errorf("%s: HEAD moved", held)
		}
		must(t, os.Remove(name))
		_, err = r.Commit(t.Context(), measure(t, r, base), options(base))
		must(t, err)
		s.Clean()
	}
}

func TestACommitWaitsForTheLockOfTheIndex(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Write("a", "2\n")
	r := opened(s)
	r.Git.Env.LockWait = time.Minute
	name := filepath.Join(s.Root, ".git/index.lock")
	must(t, os.WriteFile(name, nil, 0o644))
	released := make(chan error)
	go func() { released <- os.Remove(name) }()
	_, err := r.Commit(t.Context(), measure(t, r, base), options(base))
	must(t, err)
	must(t, <-released)

	must(t, os.WriteFile(name, nil, 0o644))
	s.Write("a", "3\n")
	cs := measure(t, r, base)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Git.LockIndex(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: got %v", err)
	}
	if _, err := r.Commit(ctx, cs, options(base)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled commit: got %v", err)
	}
}

func TestFileChangedDuringCommitIsConflict(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	large := strings.Repeat("x", 1<<20) + "\n" // too large to be kept in memory
	s.Write("a", "2\n", "large", large)
	r := opened(s)
	cs := measure(t, r, base)
	s.Write("a", "3\n")
	if patch, err := r.Patch(t.Context(), cs); err != nil || !strings.Contains(string(patch), "\n+2\n") {
		t.Errorf("the patch is not of what was measured: %.200s, %v", patch, err)
	}
	s.Write("large", large+"y\n")
	if _, err := r.Commit(t.Context(), cs, options(base)); !errors.Is(err, gitdir.ErrConflict) {
		t.Errorf("commit: got %v", err)
	}
	if _, err := r.Patch(t.Context(), cs); !errors.Is(err, gitdir.ErrConflict) {
		t.Errorf("patch: got %v", err)
	}
	cs = measure(t, r, base)
	s.Remove("a")
	if _, err := r.Commit(t.Context(), cs, options(base)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("commit of a missing file: got %v", err)
	}
	if s.Run("rev-parse", "HEAD") != base {
		t.Error("HEAD moved")
	}
}

func TestJobsOnOneRepositoryDoNotDisturbEachOther(t *testing.T) {
	s := gittest.NewSandbox(t)
	for i := range 50 {
		s.Write(fmt.Sprintf("d%d/f", i), "x\n")
	}
	base := s.Commit()
	r := opened(s)
	r.Git.Env.LockWait = 5 * time.Minute
	var jobs sync.WaitGroup
	for i := range 6 {
		jobs.Go(func() {
			dir := filepath.Join(s.Home, fmt.Sprint("trees/", i), "same-name")
			wt, err := r.AddWorktree(t.Context(), dir, base)
			if err != nil {
				t.Error(err)
				return
			}
			in := s.At(dir)
			in.Write("d0/f", fmt.Sprint(i), "n", "same for all\n")
			from, err := wt.SnapshotOf(base)
			if err != nil {
				t.Error(err)
				return
			}
			cs, err := wt.Changes(t.Context(), from)
			if err != nil {
				t.Error(err)
				return
			}
			o := options(base)
			o.Branch, o.MustNotExist = fmt.Sprint("millhand/job-", i), true
			if _, err := wt.Commit(t.Context(), cs, o); err != nil {
				t.Error(err)
			}
			if err := r.RemoveWorktree(t.Context(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
	for i := range 6 {
		if got := s.Run("show", fmt.Sprintf("millhand/job-%d:d0/f", i)); got != fmt.Sprint(i) {
			t.Errorf("job %d committed %q", i, got)
		}
	}
	s.Clean()
	if _, err := os.Stat(filepath.Join(s.Root, ".git/worktrees")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("worktrees remain: %v", err)
	}
}

func TestRacyEntriesAreReread(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Run("config", "core.trustctime", "false")
	s.Write("racy", "one\n", "other", "1\n")
	s.Commit()
	name, idx := filepath.Join(s.Root, "racy"), filepath.Join(s.Root, ".git/index")
	past := gittest.TestTime.Add(time.Nanosecond)
	must(t, os.Chtimes(name, past, past))
	s.Run("update-index", "--refresh")
	rewrite := func(text string) { // keeps size, time and inode
		must(t, os.WriteFile(name, []byte(text), 0o644))
		must(t, os.Chtimes(name, past, past))
		must(t, os.Chtimes(idx, past, past))
	}
	rewrite("two\n")
	r := opened(s)
	base := s.Run("rev-parse", "HEAD")
	if got := paths(measure(t, r, base)); !slices.Equal(got, []string{"racy"}) {
		t.Fatalf("changes: %v", got)
	}
	s.Write("other", "2\n")
	if _, err := r.Commit(t.Context(), measure(t, r, base).Without([]string{"racy"}), options(base)); err != nil {
		t.Fatal(err)
	}
	// The index is newer than the file, so git rechecks only entries marked as racy.
	if status := s.Run("status", "--porcelain"); status != " M racy" {
		t.Errorf("git status: %q", status)
	}
}

func TestLargeFilesAreNotHeldInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	large := strings.Repeat("0123456789abcde\n", (16<<20+8<<20)/16)
	s.Write("large", large, "shrinks", large)
	base := s.Commit()
	s.Write("large", large+"more\n", "new", large[16:], "shrinks", "small\n")
	r := opened(s)
	cs := measure(t, r, base)
	want := []state.Change{
		{Path: "large", Kind: state.Modified, Binary: true},
		{Path: "new", Kind: state.Added, Binary: true},
		{Path: "shrinks", Kind: state.Modified, Binary: true},
	}
	if diff := cmp.Diff(want, cs.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	patch, err := r.Patch(t.Context(), cs)
	must(t, err)
	tree := s.AddedTree()
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	if got.Tree != tree {
		t.Errorf("tree %s, git makes %s", got.Tree, tree)
	}
	s.Clean()
	name := filepath.Join(s.Home, "patch")
	must(t, os.WriteFile(name, patch, 0o644))
	s.Run("checkout", "-q", "--detach", base)
	s.Run("apply", "--index", name)
	if applied := s.Run("write-tree"); applied != tree {
		t.Errorf("the patch makes %s", applied)
	}
}

func TestCommitToShallowCloneAndToCloneWithAlternates(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", "d/b", "b\n")
	s.Commit()
	s.Write("a", "2\n")
	base := s.Commit()
	s.Run("gc", "-q")
	for name, args := range map[string][]string{
		"shallow": {"-c", "protocol.file.allow=always", "clone", "-q", "--depth=1", "file://" + s.Root},
		"shared":  {"clone", "-q", "--shared", s.Root},
	} {
		dir := filepath.Join(s.Home, name)
		s.Run(append(args, dir)...)
		in := s.At(dir)
		in.Write("d/b", "changed\n")
		want := in.AddedTree()
		r, err := Open(dir, envOf(s))
		must(t, err)
		got, err := r.Commit(t.Context(), measure(t, r, base), options(base))
		must(t, err)
		if got.Tree != want {
			t.Errorf("%s: tree %s, git makes %s", name, got.Tree, want)
		}
		in.Clean()
	}
}
