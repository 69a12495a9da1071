package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

func TestPrepareMakesALinkedWorktreeAtTheBase(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "a"), "one\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	writeFile(t, filepath.Join(s.repo, "a"), "not committed\n")
	spec := s.job("a")
	spec.Limits.Time = time.Hour
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	dir := filepath.Join(s.opts.Work, "trees", "a")
	if !p.Linked() || p.InPlace || p.Tree.Root() != dir || p.Space.Dir() != dir || p.Below != "" {
		t.Errorf("the site is %s, in place %t", p.Tree.Root(), p.InPlace)
	}
	if p.Base != git(t, s.repo, "rev-parse", "HEAD") {
		t.Errorf("the base is %s", p.Base)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); string(text) != "one\n" {
		t.Errorf("the worktree has %q, %v", text, err)
	}
	if p.Ref != "main" || p.Branch() != "millhand/a" {
		t.Errorf("the base is %s, the branch %s", p.Ref, p.Branch())
	}
	if left := j.TimeLimit.Left(); left <= 0 || left > time.Hour {
		t.Errorf("%v of the job's time are left", left)
	}
	for _, name := range []string{"home", "tmp"} {
		if info, err := os.Stat(filepath.Join(s.opts.Work, name, "a")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the private directory %s: %v", name, err)
		}
	}
	changes, err := p.Tree.Changes(t.Context(), p.Before)
	if err != nil || len(changes.Changes) != 0 {
		t.Errorf("changes before any work: %+v, %v", changes, err)
	}
}

func TestPrepareTakesTheTreeItselfForOneJobAtATime(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "mine"), "of the user\n")
	spec := s.job("a")
	spec.Commit = nil
	plan := &tasks.Plan{AllowDirty: true}
	j := s.begin(plan, spec)
	p, end := j.OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	if !p.InPlace || p.Linked() || p.Space.Dir() != s.repo {
		t.Errorf("the workspace is %s", p.Space.Dir())
	}
	if diff := cmp.Diff([]string{"mine"}, p.Dirty); diff != "" {
		t.Errorf("changes of the user's (-want +got):\n%s", diff)
	}
	taken := make(chan func())
	go func() {
		unlock, _ := j.run.trees.lock(s.repo)
		taken <- unlock
	}()
	select {
	case <-taken:
		t.Error("two jobs work on one tree")
	case <-time.After(20 * time.Millisecond):
	}
	p.Release(t.Context(), true)
	(<-taken)()
	if text, err := os.ReadFile(filepath.Join(s.repo, "mine")); err != nil || s.warnings() != "" {
		t.Errorf("the tree that is the user's: %q, %v; warnings: %s", text, err, s.warnings())
	}
	plan.AllowDirty = false
	p, end = j.OpenSite(t.Context())
	if end != nil || p.Dirty != nil {
		t.Errorf("without allow_dirty: %+v, %v", end, p.Dirty)
	}
	p.Release(t.Context(), false)
}

// A checkout that was ended, because the job needs no files or was cancelled, reports nothing itself.
func TestReleaseRemovesWhatACheckoutLeft(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p, end := j.OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	dir := p.Tree.Root()
	if err := p.Space.Close(); err != nil {
		t.Fatal(err)
	}
	p.Tree, p.Space = nil, nil
	p.Release(t.Context(), false)
	if _, err := os.Lstat(dir); err == nil || len(p.Origin.Worktrees()) > 0 || s.warnings() != "" {
		t.Errorf("left: %v, registered: %v, warnings: %s", err, p.Origin.Worktrees(), s.warnings())
	}
	inside := filepath.Join(dir, "repository") // which is not removed
	git(t, s.repo, "clone", "-q", s.repo, inside)
	origin, err := gitops.Open(inside, s.opts.Git)
	if err != nil {
		t.Fatal(err)
	}
	p.Origin = origin
	p.Release(t.Context(), false)
	if !strings.Contains(s.warnings(), "clean up after the job: remove worktree "+dir) {
		t.Errorf("warnings: %s", s.warnings())
	}
}

func TestInPlaceBaseIsCommitOfPreviousJob(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit.Branch = tasks.CurrentBranch
	j := s.begin(&tasks.Plan{}, spec)
	git(t, s.repo, "commit", "-q", "--allow-empty", "-m", "of the job before")
	p := s.prepared(j)
	if p.Base != git(t, s.repo, "rev-parse", "HEAD") {
		t.Errorf("the base is %s", p.Base)
	}
	if got := p.Branch(); got != "main" {
		t.Errorf("it commits to %q", got)
	}
}

func TestPrepareWorksInADirectoryOfARepository(t *testing.T) {
	s := setUp(t)
	for _, name := range []string{"web/app/x", "other"} {
		if err := os.MkdirAll(filepath.Join(s.repo, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(s.repo, name), "x\n")
	}
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "web")
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	if p.Below != "web" || p.Space.Dir() != filepath.Join(s.opts.Work, "trees", "a", "web") {
		t.Errorf("the workspace is %s, %q in its tree", p.Space.Dir(), p.Below)
	}
	writeFile(t, filepath.Join(p.Tree.Root(), "other"), "y\n")
	writeFile(t, filepath.Join(p.Space.Dir(), "app", "x"), "y\n")
	changes, err := p.Tree.Changes(t.Context(), p.Before)
	if err != nil || len(changes.Changes) != 1 || changes.Changes[0].Path != "web/app/x" {
		t.Errorf("the changes are %+v, %v", changes, err)
	}
}

func TestPrepareOfOtherKindsOfRepositories(t *testing.T) {
	t.Run("a copied directory", func(t *testing.T) {
		s := setUp(t)
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a"), "plain\n")
		spec := s.job("a")
		spec.Repo = tasks.Repo{Name: "plain", Kind: tasks.RepoCopy, Dir: dir}
		p := s.prepared(s.begin(&tasks.Plan{}, spec))
		if text, err := os.ReadFile(filepath.Join(p.Space.Dir(), "a")); string(text) != "plain\n" || p.Base == "" || !p.Linked() {
			t.Errorf("the workspace has %q, %v; its base is %q", text, err, p.Base)
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory itself became a repository: %v", err)
		}
	})
	t.Run("a mirror", func(t *testing.T) {
		s := setUp(t)
		spec := s.job("a")
		spec.Repo = tasks.Repo{Name: "far", Kind: tasks.RepoURL, URL: "file://" + s.repo}
		p := s.prepared(s.begin(&tasks.Plan{}, spec))
		if p.Base != git(t, s.repo, "rev-parse", "HEAD") || p.InPlace || !p.Linked() {
			t.Errorf("the site is %s at %s", p.Tree.Root(), p.Base)
		}
	})
	t.Run("a repository without a commit", func(t *testing.T) {
		s := setUp(t)
		s.repo = t.TempDir()
		git(t, s.repo, "init", "-q", "-b", "trunk")
		j := s.begin(&tasks.Plan{}, s.job("a"))
		p := s.prepared(j)
		if !p.InPlace || p.Base != "" || p.Branch() != "trunk" {
			t.Errorf("in place %t, base %q, branch %q", p.InPlace, p.Base, p.Branch())
		}
	})
}

func TestFailedPrepareReleasesResources(t *testing.T) {
	s := setUp(t)
	inside := filepath.Join(s.repo, "web")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(inside, "x"), "x\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Commit, spec.Repo.Dir = nil, inside
	j := s.begin(&tasks.Plan{AllowDirty: true}, spec)
	if err := os.RemoveAll(inside); err != nil {
		t.Fatal(err)
	}
	p, end := j.OpenSite(t.Context())
	if p != nil || end == nil || end.Code != event.CodeRepository || !strings.Contains(end.Detail, "prepare the workspace: ") {
		t.Fatalf("%+v, %+v", p, end)
	}
	unlock, _ := j.run.trees.lock(s.repo) // or nobody could ever work there again
	unlock()

	spec = s.job("b")
	spec.Repo.Dir = s.repo
	j = s.begin(&tasks.Plan{}, spec)
	j.Start.Below = "nowhere"
	if p, end = j.OpenSite(t.Context()); p != nil || end == nil {
		t.Fatalf("%+v, %+v", p, end)
	}
	if out := git(t, s.repo, "worktree", "list"); strings.Contains(out, "trees") {
		t.Errorf("the worktree is left:\n%s", out)
	}
}

// A repository that was broken since the preflight has no site.
func TestABrokenRepositoryIsNotPrepared(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	writeFile(t, filepath.Join(s.repo, ".git", "HEAD"), "broken\n")
	for name, prepare := range map[string]func(context.Context) (*Site, *ending.Stop){"prepare": j.Prepare, "open": j.OpenSite} {
		p, end := prepare(t.Context())
		if stopped(t, name, end, event.CodeRepository, "prepare the workspace: "); p != nil || end == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// The name of the base is in reports: that of its branch, or the ref of the manifest.
func TestTheNameOfTheBase(t *testing.T) {
	head := gitdir.Head{Branch: "main", Hash: "c0ffee"}
	for name, c := range map[string]struct {
		spec tasks.Job
		base string
		want string
	}{
		"the branch":              {tasks.Job{}, "c0ffee", "main"},
		"another commit":          {tasks.Job{}, "beef", ""},
		"a ref":                   {tasks.Job{Repo: tasks.Repo{Ref: "v1"}}, "beef", "v1"},
		"a ref, and a new branch": {tasks.Job{Repo: tasks.Repo{Ref: "v1"}, Commit: &tasks.Commit{IfExists: tasks.ReplaceIfExists}}, "beef", "v1"},
		"the job's own branch":    {tasks.Job{Repo: tasks.Repo{Ref: "v1"}, Commit: &tasks.Commit{IfExists: tasks.AppendIfExists}}, "beef", ""},
	} {
		want(t, name, c.want, refOf(c.spec, head, c.base))
	}
}

func TestSignalCancelsPrepare(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if _, end := j.OpenSite(ctx); end == nil || end.Code != event.CodeInterrupted {
		t.Errorf("%+v", end)
	}
}

func TestConfineFailsWithoutItsDirectories(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Setup = []string{"true"}
	j := s.begin(&tasks.Plan{}, spec)
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	p, end := j.OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	t.Cleanup(func() { p.Release(context.WithoutCancel(t.Context()), false) })
	if end = p.Confine(t.Context()); end == nil || end.Code != event.CodeInternal {
		t.Errorf("%+v", end)
	}
}

func TestFullDiskIsReported(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if !files.IsFull(full) || !files.IsFull(syscall.EDQUOT) || files.IsFull(os.ErrNotExist) {
		t.Error("a full disk is not recognised")
	}
	j := &Job{opts: &Options{Work: "/w"}}
	if code, err := ofDisk(j.opts, nil, full); code != event.CodeMachine || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "TMPDIR is full (/w)") {
		t.Error(code, err)
	}
	j.opts.Keep = true
	if code, err := ofDisk(j.opts, nil, full); code != event.CodeMachine || !strings.Contains(err.Error(), "kept worktrees is full (/w)") {
		t.Error(code, err)
	}
}

func TestReleaseRemovesTheTreeUnlessItsWorkIsNotSaved(t *testing.T) {
	for name, c := range map[string]struct {
		unkept, keep, there, warned bool
	}{
		"done":                   {},
		"--keep":                 {keep: true, there: true},
		"work that nobody keeps": {unkept: true, there: true, warned: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Keep = c.keep
			var left []string
			s.opts.Trees.Left = func(tree string) { left = append(left, tree) }
			j := s.begin(&tasks.Plan{}, s.job("a"))
			p, end := j.OpenSite(t.Context())
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			if end = p.Confine(t.Context()); end == nil {
				_, end = p.Sandboxes.Needed()
			}
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			p.Release(t.Context(), c.unkept)
			if _, err := os.Stat(j.Outputs().Path()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a directory without outputs is left: %v", err)
			}
			_, err := os.Stat(p.Tree.Root())
			if there := err == nil; there != c.there {
				t.Errorf("it is there: %t", there)
			}
			if warned := strings.Contains(s.warnings(), "they are in "+p.Tree.Root()); warned != c.warned || (len(left) == 1) != c.warned {
				t.Errorf("left %q; warnings: %s", left, s.warnings())
			}
		})
	}
}

func TestJobCommandEnv(t *testing.T) {
	s := setUp(t)
	s.opts.Level = sandbox.None
	inside := filepath.Join(s.repo, ".millhand", "runs", "r1")
	s.opts.Private = []string{inside, "/somewhere/else", filepath.Dir(s.repo)}
	spec := s.job("a")
	spec.Commit = nil
	spec.Limits = tasks.Limits{Disk: 1 << 30, Processes: 7}
	j := s.begin(&tasks.Plan{Tools: []tasks.CustomTool{{}}}, spec)
	p := s.prepared(j)
	g, err := p.Ground(spec.Profile)
	if err != nil {
		t.Fatal(err)
	}
	if g.Workspace != s.repo || g.Tree != s.repo || !g.InPlace || len(g.Tools) != 1 || g.Limits != spec.Limits {
		t.Errorf("the ground is %+v", g)
	}
	if diff := cmp.Diff([]string{filepath.Join(s.repo, ".millhand")}, g.Hidden); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{j.Outputs().Path()}, g.Readable); diff != "" {
		t.Errorf("readable (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{inside, "/somewhere/else"}, p.Private()); diff != "" {
		t.Errorf("closed to the job (-want +got):\n%s", diff)
	}
	g.Tell(event.Network{Host: "example.com"})
	if told := s.of(event.NetworkRequested); len(told) != 1 || told[0].Job != "a" || told[0].Network.Host != "example.com" {
		t.Errorf("told %+v", told)
	}
}

func TestSandboxIsCreatedOnce(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	own, err := p.Sandboxes.Of(t.Context(), "", spec.Profile, false)
	if err != nil || own != p.Sandboxes.Own {
		t.Errorf("an agent that may do as much as the job has its own: %v", err)
	}
	first, err := p.Sandboxes.Of(t.Context(), "agent small ", spec.Profile, false)
	if err != nil || first == p.Sandboxes.Own || first.Within != p.Sandboxes.Own {
		t.Fatalf("%+v, %v", first, err)
	}
	if second, _ := p.Sandboxes.Of(t.Context(), "agent small ", spec.Profile, false); second != first {
		t.Error("it is made twice")
	}
}

func TestTheJobsBranch(t *testing.T) {
	for _, c := range []struct {
		spec tasks.Job
		want string
	}{
		{tasks.Job{}, ""},
		{tasks.Job{Commit: &tasks.Commit{Branch: "b"}}, "b"},
		{tasks.Job{Commit: &tasks.Commit{Branch: "b"}, Publish: tasks.PublishPatch}, ""},
		{tasks.Job{Commit: &tasks.Commit{Branch: "b"}, Publish: tasks.PublishPush}, "b"},
	} {
		if got := (&Workdir{job: &Job{Spec: c.spec}}).Branch(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.spec, got, c.want)
		}
	}
}

func TestUpToOwn(t *testing.T) {
	for in, want := range map[string]string{
		"a/b": "a/b", ".millhand/runs/1": ".millhand", "a/.millhand/x": "a/.millhand", "a/x.millhand/y": "a/x.millhand/y",
	} {
		if got := millhandPrefix(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
