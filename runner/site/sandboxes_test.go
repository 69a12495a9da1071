package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// confined makes the stage's commands run at a level of the sandbox, if the machine has it.
func (s *stage) confined(level sandbox.Level) {
	s.t.Helper()
	if best := sandbox.Probe(s.t.Context(), s.t.TempDir()).Best; best != level {
		s.t.Skipf("the machine has level %s", best)
	}
	s.opts.Level, s.opts.Sandbox, s.opts.System = level, level.State(), sandbox.NewPrivate(s.t.TempDir())
}

// Commands of the manifest write the workspace and their private directories, and neither what the profile denies nor
// what belongs to millhand.
func TestCommandsAreConfinedToTheSite(t *testing.T) {
	for name, own := range map[string]bool{"worktree": false, "own tree": true} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.confined(sandbox.Full)
			s.commit(map[string]string{"a": "one\n", "web/locked": "x\n", "web/b": "x\n"})
			beside := t.TempDir()
			writeFile(t, filepath.Join(beside, "data", "in"), "beside\n")
			inside := filepath.Join(s.repo, ".millhand", "runs", "r1")
			writeFile(t, filepath.Join(inside, "report"), "x\n")
			s.opts.Private = []string{inside}
			spec := s.job("a")
			if own {
				spec.Commit = nil
			}
			spec.Repo.Dir = filepath.Join(s.repo, "web")
			spec.Beside = tasks.Beside{Dir: beside}
			spec.Profile = spec.Profile.Narrowed("m.yaml", []permission.Rule{permission.Protect("locked", "it is locked")})
			spec.Setup = []string{"cat data/in >of-setup"}
			lines := []string{"echo >f", "echo >$HOME/f", "echo >$TMPDIR/f", "echo >locked", "cat " + filepath.Join(inside, "report"), "echo >../a", "echo >>" + filepath.Join(s.repo, ".git", "config")}
			spec.Verify = verify(lines...)
			p := s.prepared(s.begin(&tasks.Plan{AllowDirty: true}, spec))
			if end := (JobHooks{Site: p}).SetUp(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			want(t, "setup read", "beside\n", read(t, filepath.Join(p.Space.Dir(), "of-setup")))
			ran, end := Verifier{Site: p}.All(t.Context(), 1)
			if end != nil {
				t.Fatalf("%+v", *end)
			}
			for i, v := range ran {
				if v.Passed != (i < 3) {
					t.Errorf("%s: %+v", lines[i], v.Verify)
				}
			}
			if end := p.job.CheckGuard(nil); end != nil {
				t.Errorf("%+v", *end)
			}
		})
	}
}

// A sandbox that only calls need is opened by the first one; the failure is that of each.
func TestTheSandboxIsOpenedOnDemand(t *testing.T) {
	s := setUp(t)
	p, end := s.begin(&tasks.Plan{}, s.job("a")).OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	t.Cleanup(func() { s.release(p) })
	ctx, cancel := context.WithCancel(t.Context())
	if end := p.Confine(ctx); end != nil || p.Sandboxes.Own != nil || p.Sandboxes.OverDisk(1) {
		t.Fatalf("before a call: %+v", end)
	}
	cancel() // filters run whatever happens
	box, end := p.Sandboxes.Needed()
	if again, _ := p.Sandboxes.Needed(); end != nil || box == nil || again != box || p.Sandboxes.Own != box {
		t.Errorf("opened twice: %+v", end)
	}
	s = setUp(t)
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	p, end = s.begin(&tasks.Plan{}, s.job("a")).OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	t.Cleanup(func() { s.release(p) })
	if end := p.Confine(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	for range 2 {
		box, end := p.Sandboxes.Needed()
		if stopped(t, "needed", end, event.CodeInternal, "create a private directory"); box != nil || end == nil {
			t.Error("there is a sandbox")
		}
	}
}

// Sessions share a sandbox unless they may do less.
func TestSandboxesOfSessions(t *testing.T) {
	s := setUp(t)
	build := s.job("a")
	readonly, _ := permission.Preset("readonly")
	review, _ := permission.Preset("review")
	p := s.prepared(s.begin(&tasks.Plan{Tools: []tasks.CustomTool{{}}}, build))
	boxes := map[any]string{p.Sandboxes.Own: "the job"}
	for _, c := range []struct {
		name, narrowed string
		profile        permission.Profile
		granted        bool
		concealed      []string
		want           string
	}{
		{name: "the job's agent", profile: build.Profile, want: "the job"},
		{name: "a narrowed agent", narrowed: "small", profile: build.Profile, want: "a narrowed agent"},
		{name: "the same", narrowed: "small", profile: build.Profile, want: "a narrowed agent"},
		{name: "an agent that changes nothing", profile: readonly, want: "an agent that changes nothing"},
		{name: "another one", profile: review, want: "an agent that changes nothing"},
		{name: "its granted program", profile: readonly, granted: true, want: "the job"},
		{name: "a narrowed one that changes nothing", narrowed: "small", profile: readonly, want: "a narrowed one that changes nothing"},
	} {
		box, err := p.Sandboxes.Of(t.Context(), c.narrowed, c.profile, c.granted)
		if err != nil {
			t.Fatal(err)
		}
		if boxes[box] == "" {
			boxes[box] = c.name
		}
		if got := boxes[box]; got != c.want || got != "the job" && box.Within != p.Sandboxes.Own {
			t.Errorf("%s gets the sandbox of %s, want %s", c.name, got, c.want)
		}
	}
	if err := os.RemoveAll(filepath.Join(s.opts.Work, "home")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	if _, err := p.Sandboxes.Of(t.Context(), "other", build.Profile, false); err == nil || !strings.Contains(err.Error(), "create a private directory") {
		t.Errorf("without a private directory: %v", err)
	}
}

// Growth of the disk is measured after commands, and a job that ends above its limit does not pass.
func TestTheDiskLimitOfAJob(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Limits.Disk = 1 << 20
	// It runs until it is measured: a short command is measured only if the disk has lost as much, which others that free space hide.
	spec.Verify = verify("true", "head -c 3000000 /dev/zero >big; sleep 600", "true")
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	for i, over := range []bool{false, true} {
		if _, err := p.command(t.Context(), p.Sandboxes.Own, spec.Verify[i].Run, time.Hour); err != nil {
			t.Fatal(err)
		}
		end := p.Sandboxes.CheckDiskLimit(t.Context())
		if p.Sandboxes.OverDisk(1) != over || p.Sandboxes.OverDisk(1000) {
			t.Errorf("after command %d: %t", i, p.Sandboxes.OverDisk(1))
		}
		code := event.Code("")
		if over {
			code = event.CodeLimit
		}
		stopped(t, spec.Verify[i].Run, end, code, "limits.disk: ")
	}
}

// The private directories are known before the files of the job are there, and are then those of its commands.
func TestExpectedPrivateDirectories(t *testing.T) {
	s := setUp(t)
	s.opts.Getenv = func(name string) string {
		if name == "HOME" {
			return ""
		}
		return os.Getenv(name)
	}
	p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	want(t, "expected", access.Scratch{Home: filepath.Join(s.opts.Work, "home", "a"), Tmp: filepath.Join(s.opts.Work, "tmp", "a")}, p.ExpectedScratch())
	env := p.Sandboxes.Own.Env
	if proc.Value(env, "HOME") != p.ExpectedScratch().Home || proc.Value(env, "TMPDIR") != p.ExpectedScratch().Tmp {
		t.Errorf("commands get %q", env)
	}
}

// The key of signatures is closed to a job, wherever it is.
func TestTheKeyOfSignaturesIsHidden(t *testing.T) {
	s := setUp(t)
	s.signing.KeyFile = "/keys/signing"
	p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	want(t, "private", []string{"/keys/signing"}, p.Private())
	want(t, "hidden", []string{"/keys/signing"}, p.hidden())
}

// Repositories of submodules are git's own files, too, in the tree of the user.
func TestSubmodulesOfTheOwnTree(t *testing.T) {
	s := setUp(t)
	git(t, s.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.repo, "sub")
	git(t, s.repo, "commit", "-q", "-m", "submodule")
	p := s.ownTree()
	g, err := p.Ground(p.job.Spec.Profile)
	if want(t, "submodules", p.Tree.Submodules(""), g.Submodules); err != nil || len(g.Submodules) != 1 {
		t.Errorf("%q, %v", g.Submodules, err)
	}
}

// Files that the profile protects are known before the state of the own tree is.
func TestTrackedFilesOfTheWorkspace(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "x\n", "web/b": "x\n", "website": "x\n"})
	spec := s.job("a")
	spec.Commit, spec.Repo.Dir = nil, filepath.Join(s.repo, "web")
	p, end := s.begin(&tasks.Plan{}, spec).OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	t.Cleanup(func() { s.release(p) })
	for range 2 {
		want(t, "tracked", []string{"web/b"}, p.tracked())
		if end := p.Confine(t.Context()); end != nil {
			t.Fatalf("%+v", *end)
		}
	}
	writeFile(t, filepath.Join(s.repo, ".git", "index"), "broken")
	want(t, "of the state", []string{"web/b"}, p.tracked())
	p.Before = nil
	want(t, "with a broken index", nil, p.tracked())
}
