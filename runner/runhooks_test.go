package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

func hookOf(on tasks.HookEvent, line string) tasks.Hook {
	return tasks.Hook{Name: string(on), On: on, Command: []string{"bash", "-c", line}, Time: time.Minute}
}

func inputOf(t *testing.T, file string) (in hook.Input) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		t.Error(err)
	}
	return in
}

// Hooks of the run are around all jobs, and those of its end get how each ended.
func TestHooksOfARun(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	dir := t.TempDir()
	bad := s.job("b")
	bad.Commit, bad.RequireChanges = &tasks.Commit{Branch: "other"}, true
	bad.Setup = []string{"exit 7"}
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a"), bad}, Hooks: []tasks.Hook{
		hookOf(tasks.RunStart, "pwd; ls -A; cat >"+dir+"/start"), hookOf(tasks.RunEnd, "cat >"+dir+"/end; exit 1"),
	}}
	exit := s.run(t.Context(), plan)
	if exit != event.ExitFailed || !strings.Contains(s.warnings(), "hook run_end: exit code 1") {
		t.Errorf("exit %d; warnings %s", exit, s.warnings())
	}
	workspace := func(on string) string { return filepath.Join(s.opts.Work, "hooks", on) }
	if diff := cmp.Diff(hook.Input{Version: 1, Event: tasks.RunStart, Run: "r1", Dir: workspace("run_start")}, inputOf(t, dir+"/start")); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	want := hook.Input{
		Version: 1, Event: tasks.RunEnd, Run: "r1", Dir: workspace("run_end"), Outcome: event.Failed, ExitCode: &exit,
		Jobs: []hook.Ended{{Job: "a", Outcome: event.Passed}, {Job: "b", Outcome: event.Failed, Reason: s.reason("b"), Code: event.CodeFailed}},
	}
	got := inputOf(t, dir+"/end")
	want.Jobs[1].Code = got.Jobs[1].Code
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// A hook of the start that fails is why no job starts, and those of the end still run.
func TestAFailedHookOfTheStartStartsNoJob(t *testing.T) {
	s := setUp(t)
	file := filepath.Join(t.TempDir(), "end")
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}, Hooks: []tasks.Hook{hookOf(tasks.RunStart, "echo no >&2; exit 3"), hookOf(tasks.RunEnd, "cat >"+file)}}
	exit := s.run(t.Context(), plan)
	if end := s.of(event.JobEnded)[0].JobEnd; exit == event.ExitOK || end.Code != event.CodeExtension || end.Reason != "hook run_start: exit code 3: no" || len(s.of(event.JobStarted)) > 0 {
		t.Errorf("exit %d, %+v", exit, end)
	}
	if in := inputOf(t, file); len(in.Jobs) != 1 || in.ExitCode == nil || *in.ExitCode != exit {
		t.Errorf("at the end: %+v", in)
	}
}

// A hook of the start that can't run starts no job either.
func TestAHookWithoutADirectoryStartsNoJob(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.opts.Work, "hooks"), "in the way")
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}, Hooks: []tasks.Hook{hookOf(tasks.RunStart, "true")}})
	if end := s.of(event.JobEnded)[0].JobEnd; exit == event.ExitOK || !strings.Contains(end.Reason, "create the directory of the hook: ") || len(s.of(event.JobStarted)) > 0 {
		t.Errorf("exit %d, %+v", exit, end)
	}
}

// Hooks after a commit get it, and none run without one.
func TestHooksAfterACommit(t *testing.T) {
	for name, c := range map[string]struct {
		turns string
		line  string
		ran   bool
		code  event.Code
	}{
		"a commit":   {writes, "true", true, ""},
		"a failure":  {writes, "exit 1", true, event.CodeExtension},
		"no changes": {"  - {text: ok}\n", "true", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Equipment.OpenModel = plays(t, c.turns)
			file := filepath.Join(t.TempDir(), "commit")
			s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}, Hooks: []tasks.Hook{hookOf(tasks.AfterCommit, "cat >"+file+"; "+c.line)}})
			if end := s.of(event.JobEnded)[0].JobEnd; end.Code != c.code {
				t.Errorf("%+v", end)
			}
			_, err := os.Stat(file)
			if (err == nil) != c.ran {
				t.Fatalf("it ran: %v", err)
			}
			if c.ran {
				if in := inputOf(t, file); in.Commit == nil || *in.Commit != (hook.Commit{Hash: git(t, s.repo, "rev-parse", "millhand/a"), Branch: "millhand/a"}) {
					t.Errorf("commit %+v", in.Commit)
				}
			}
		})
	}
}

// The final message is written for users who need it after the run: also of a job that failed, redacted, and nowhere else
// than below the manifest.
func TestTheFinalMessageIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		path, own string
		result    ending.Result
		file      string
		text      string
		code      event.Code
	}{
		"no file":             {"", "", ending.Result{Final: "ok"}, "", "", ""},
		"no message":          {"out.txt", "", ending.Result{}, "", "", ""},
		"a message":           {"d/out.txt", "", ending.Result{Final: "ok\n\n"}, "d/out.txt", "ok\n", ""},
		"a secret":            {"out.txt", "", ending.Result{Final: token}, "out.txt", redact.Mark + "\n", ""},
		"an output":           {"out.json", "", ending.Result{Final: "ok", Output: json.RawMessage(`{"a":1}`)}, "out.json", "{\"a\":1}\n", ""},
		"of the command line": {"out.txt", "own.txt", ending.Result{Final: "ok"}, "own.txt", "ok\n", ""},
		"through a symlink":   {"symlink/out.txt", "", ending.Result{Final: "ok"}, "", "", event.CodeFailed},
		"nowhere":             {"out.txt", ".", ending.Result{Final: "ok"}, "", "", event.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Redact = redact.New(nil)
			dir := t.TempDir()
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, "symlink")); err != nil {
				t.Fatal(err)
			}
			j := s.begin(&tasks.Plan{}, s.job("a"))
			j.Spec.Output = tasks.OutputFile{Dir: dir, Path: c.path}
			if c.own != "" {
				j.Spec.Output.Own = filepath.Join(dir, c.own)
			}
			got, end := j.writeOutput(t.Context(), &c.result)
			if codeOf(end) != c.code || (got != "") != (c.file != "") || end != nil && !strings.HasPrefix(end.Detail, "write the final message to "+c.path+": ") {
				t.Fatalf("%q, %+v", got, end)
			}
			if c.file != "" {
				if text, err := os.ReadFile(filepath.Join(dir, c.file)); string(text) != c.text {
					t.Errorf("%q, %v", text, err)
				}
			}
		})
	}
}
