package runner

import (
	"context"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/tasks"
)

// first is a model that calls asked with its first request before it responds as the model.
type first struct {
	model.Model
	asked func(model.Request)
}

func (f *first) Stream(ctx context.Context, r model.Request, emit func(model.Delta)) (model.Response, error) {
	if f.asked != nil {
		f.asked(r)
		f.asked = nil
	}
	return f.Model.Stream(ctx, r, emit)
}

// asks makes the stage's models call asked with their first request.
func (s *stage) asks(turns string, asked func(model.Request)) {
	open := plays(s.t, turns)
	s.opts.Equipment.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Model = &first{c.Model, asked}
		return c, err
	}
}

// sending is a model that has sent a request before it calls waits.
type sending struct {
	model.Model
	waits func()
}

func (m sending) Stream(ctx context.Context, r model.Request, emit func(model.Delta)) (model.Response, error) {
	httptrace.ContextClientTrace(ctx).WroteRequest(httptrace.WroteRequestInfo{})
	m.waits()
	return m.Model.Stream(ctx, r, emit)
}

// The worktree is made while the model responds.
func TestTheCheckoutRunsBesideTheFirstRequest(t *testing.T) {
	s := setUp(t)
	open := plays(t, "  - {text: ok}\n")
	s.opts.Equipment.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Model = sending{c.Model, func() {
			file := filepath.Join(s.opts.Work, "trees", "a", ".git")
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(file); err == nil {
					return
				}
				if time.Now().After(deadline) {
					t.Error("no worktree before the response")
					return
				}
			}
		}}
		return c, err
	}
	if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}); exit != event.ExitOK {
		t.Errorf("exit %d: %v", exit, s.ends())
	}
}

// The first request has what the working tree would say, whether the job's files are complete or not.
func TestTheFirstRequestDoesNotDependOnTheCheckout(t *testing.T) {
	for name, own := range map[string]bool{"worktree": false, "own tree": true} {
		t.Run(name, func(t *testing.T) {
			systems := map[bool]string{}
			for _, early := range []bool{true, false} {
				s := setUp(t)
				writeFile(t, filepath.Join(s.repo, "AGENTS.md"), "Use tabs.\n")
				writeFile(t, filepath.Join(s.repo, "CLAUDE.md"), "Not read.\n")
				git(t, s.repo, "add", "-A")
				git(t, s.repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "notes")
				job := s.job("a")
				if own {
					job.Commit = nil
				}
				if !early {
					job.Verify = []tasks.Verify{{Run: "true"}}
					s.opts.NoBaseline = true
				}
				s.asks(writes, func(r model.Request) {
					systems[early] = strings.NewReplacer(s.opts.Work, "WORK", s.repo, "REPO").Replace(r.System)
				})
				if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}}); exit != event.ExitOK {
					t.Fatalf("exit %d: %v", exit, s.ends())
				}
			}
			if !strings.Contains(systems[true], "Use tabs.") || strings.Contains(systems[true], "Not read.") {
				t.Errorf("system prompt:\n%s", systems[true])
			}
			var lines []string
			for line := range strings.Lines(systems[false]) {
				if !strings.Contains(line, "after your final message") && !strings.Contains(line, "`true`") { // about verify
					lines = append(lines, line)
				}
			}
			if diff := cmp.Diff(strings.Join(lines, ""), systems[true]); diff != "" {
				t.Errorf("the system prompt differs from that of a job with all files (-with +without):\n%s", diff)
			}
		})
	}
}

// A job in the user's own tree reads it before its first request, with files that git ignores.
func TestIgnoredInstructionsOfTheOwnTreeAreRead(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, ".git/info/exclude"), "AGENTS.md\n")
	writeFile(t, filepath.Join(s.repo, "AGENTS.md"), "Use tabs.\n")
	job, read := s.job("a"), false
	job.Commit = nil
	s.asks(writes, func(r model.Request) { read = strings.Contains(r.System, "Use tabs.") })
	if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}}); exit != event.ExitOK || !read {
		t.Errorf("exit %d, read: %v", exit, read)
	}
}

func TestSkillsOfARepositoryAreOffered(t *testing.T) {
	s := setUp(t)
	file := filepath.Join(s.repo, ".agents/skills/greet/SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, "---\nname: greet\ndescription: how to greet\n---\nSay hello.\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "skill")
	offered := false
	s.asks(writes, func(r model.Request) {
		for _, tool := range r.Tools {
			offered = offered || tool.Name == "skill" && strings.Contains(tool.Description, "how to greet")
		}
	})
	if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}); exit != event.ExitOK || !offered {
		t.Errorf("exit %d, offered: %v", exit, offered)
	}
}

// A sandbox that can't be opened beside the first request ends the job before a tool runs.
func TestAFailureInTheOwnTreeEndsTheJob(t *testing.T) {
	s := setUp(t)
	s.asks(writes, nil)
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	job := s.job("a")
	job.Commit = nil
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}})
	end := s.of(event.JobEnded)[0].JobEnd
	if exit == event.ExitOK || end.Cause != event.CodeInternal || !strings.Contains(end.Reason, "create a private directory") {
		t.Errorf("exit %d: %+v", exit, end)
	}
	if status := git(t, s.repo, "status", "--porcelain"); len(s.of(event.JobStarted)) != 1 || status != "" {
		t.Errorf("started %d times; changed %q", len(s.of(event.JobStarted)), status)
	}
}

// A checkout that fails ends the job, with its own reason and without a trace.
func TestAFailedCheckoutEndsTheJob(t *testing.T) {
	s := setUp(t)
	s.asks(writes, nil)
	writeFile(t, filepath.Join(s.opts.Work, "trees"), "in the way")
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}})
	end := s.of(event.JobEnded)[0].JobEnd
	if exit == event.ExitOK || end.Code != event.CodeRepository || !strings.Contains(end.Reason, "prepare the workspace") {
		t.Errorf("exit %d: %+v", exit, end)
	}
	if len(s.of(event.JobStarted)) != 1 || strings.Contains(s.warnings(), "could be saved") {
		t.Errorf("warnings: %s", s.warnings())
	}
}

// A job whose model makes no call needs no private directories; setup gets them.
func TestWithoutACallNoSandboxIsOpened(t *testing.T) {
	for name, c := range map[string]struct {
		setup bool
		turns string
		want  bool
	}{
		"no call":    {turns: "  - {text: ok}\n"},
		"a call":     {turns: writes, want: true},
		"with setup": {setup: true, turns: "  - {text: ok}\n", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, own := range []bool{false, true} {
				s := setUp(t)
				s.asks(c.turns, nil)
				job := s.job("a")
				if own {
					job.Commit = nil
				}
				if c.setup {
					job.Setup = []string{"true"}
				}
				if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}}); exit != event.ExitOK {
					t.Fatalf("exit %d: %v", exit, s.ends())
				}
				for _, dir := range []string{"home", "tmp"} {
					if _, err := os.Stat(filepath.Join(s.opts.Work, dir, "a")); (err == nil) != c.want {
						t.Errorf("own tree %t: %s: %v", own, dir, err)
					}
				}
			}
		})
	}
}

// What the user changes in the own tree while the model responds is not the work of a job without a call.
func TestAJobWithoutACallHasNoChanges(t *testing.T) {
	for name, c := range map[string]struct {
		turns string
		want  []string
	}{
		"no call": {turns: "  - {text: ok}\n"},
		"a call":  {turns: writes, want: []string{"a", "users.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.asks(c.turns, func(model.Request) { writeFile(t, filepath.Join(s.repo, "users.txt"), "text\n") })
			job := s.job("a")
			job.Commit = nil
			if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}}); exit != event.ExitOK {
				t.Fatalf("exit %d: %v", exit, s.ends())
			}
			var paths []string
			for _, c := range s.of(event.ChangesFound)[0].Changes {
				paths = append(paths, c.Path)
			}
			if diff := cmp.Diff(c.want, paths); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// The ignored files that a job finds in the own tree are not its own, also if the preflight did not find
// the tree clean.
func TestIgnoredFilesOfTheStartAreNotTheJobs(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, ".git/info/exclude"), "*.log\nbuild/\n")
	writeFile(t, filepath.Join(s.repo, "users.log"), "text\n")
	writeFile(t, filepath.Join(s.repo, "users.txt"), "text\n")
	if err := os.Mkdir(filepath.Join(s.repo, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.repo, "build/out"), "text\n")
	s.asks("  - calls: [{tool: write, args: {filePath: a.log, content: text}}]\n  - {text: ok}\n", nil)
	job := s.job("a")
	job.Commit = nil
	if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, AllowDirty: true, Jobs: []tasks.Job{job}}); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	var paths []string
	for _, u := range s.of(event.JobEnded)[0].JobEnd.UntrackedInputs {
		paths = append(paths, u.Path)
	}
	if diff := cmp.Diff([]string{"a.log"}, paths); diff != "" || len(s.of(event.ChangesFound)[0].Changes) > 0 {
		t.Errorf("ignored files (-want +got):\n%s\nchanges: %v", diff, s.of(event.ChangesFound)[0].Changes)
	}
}

// The user's own tree is searched once, by the preflight, if only built-in tools wrote files: a second search would
// find what the user changed meanwhile.
func TestFilesThatToolsWroteNeedNoSearch(t *testing.T) {
	for name, test := range map[string]struct {
		call string
		want string
	}{
		"a tracked file": {`{tool: edit, args: {filePath: a, oldString: one, newString: two}}`, "a"},
		"a new file":     {`{tool: write, args: {filePath: n, content: x}}`, "b\nn"}, // rules of git decide on it
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			writeFile(t, filepath.Join(s.repo, "a"), "one\n")
			writeFile(t, filepath.Join(s.repo, "b"), "one\n")
			git(t, s.repo, "add", "-A")
			git(t, s.repo, "commit", "-q", "-m", "files")
			s.asks("  - {calls: ["+test.call+"]}\n  - {text: ok}\n", func(model.Request) { writeFile(t, filepath.Join(s.repo, "b"), "of the user\n") })
			spec := s.job("j")
			spec.Commit.Branch = tasks.CurrentBranch
			if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}); exit != event.ExitOK {
				t.Fatalf("exit %d: %v", exit, s.ends())
			}
			if got := git(t, s.repo, "show", "--format=", "--name-only", "HEAD"); got != test.want {
				t.Errorf("the commit has %q, want %q", got, test.want)
			}
		})
	}
}

// A job without a call pays no checkout: no worktree is made, or it is removed, and nothing waits for it.
func TestWithoutACallNothingIsCheckedOut(t *testing.T) {
	for name, c := range map[string]struct {
		turns, outcome string
		change         func(*stage, *tasks.Job)
		want           bool
	}{
		"no call":          {turns: "  - {text: ok}\n", outcome: "passed"},
		"a failed request": {turns: "  - {error: {status: 401, message: wrong key}}\n", outcome: "provider"},
		"required changes": {turns: "  - {text: ok}\n", outcome: "failed", change: func(_ *stage, j *tasks.Job) { j.RequireChanges = true }},
		"with --keep":      {turns: "  - {text: ok}\n", outcome: "passed", change: func(s *stage, _ *tasks.Job) { s.opts.Keep = true }, want: true},
		"a call":           {turns: writes, outcome: "passed", want: true},
		"verify":           {turns: "  - {text: ok}\n", outcome: "passed", change: func(_ *stage, j *tasks.Job) { j.Verify = []tasks.Verify{{Run: "true"}} }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.asks(c.turns, nil)
			job := s.job("a")
			if c.change != nil {
				c.change(s, &job)
			}
			made := 0
			failpoint.Arm(func(name string) {
				if name == string(failpoint.WorktreeBefore) {
					made++
				}
			})
			s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{job}})
			failpoint.Arm(func(string) {})
			if end := s.of(event.JobEnded)[0].JobEnd; string(end.Outcome) != c.outcome || (made > 0) != c.want {
				t.Errorf("%d worktrees made; %+v", made, end)
			}
			if s.warnings() != "" {
				t.Errorf("warnings: %s", s.warnings())
			}
		})
	}
}

// A checkout that is in progress when the session ends without a call is ended, and leaves nothing.
func TestACheckoutThatIsNotNeededIsEnded(t *testing.T) {
	s := setUp(t)
	open, began := plays(t, "  - {text: ok}\n"), make(chan struct{})
	s.opts.Equipment.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Model = sending{c.Model, func() { <-began }}
		return c, err
	}
	failpoint.Arm(func(name string) {
		if name == string(failpoint.WorktreeBefore) {
			close(began)
			time.Sleep(50 * time.Millisecond) // the session ends meanwhile, or a little later: both must work
		}
	})
	defer failpoint.Arm(func(string) {})
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}})
	left, err := os.ReadDir(filepath.Join(s.opts.Work, "trees"))
	if exit != event.ExitOK || s.warnings() != "" || err != nil || len(left) > 0 {
		t.Errorf("exit %d: %v; warnings: %s; left %v, %v", exit, s.ends(), s.warnings(), left, err)
	}
	if list := git(t, s.repo, "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("worktrees left: %s", list)
	}
}
