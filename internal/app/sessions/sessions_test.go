package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/runtest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/savedsession"
)

// workplace is a repository with a run in the directory out, and the world of the commands that run in it.
type workplace struct {
	*gittest.Sandbox
	world    world.World
	out, log strings.Builder // of the commands
}

// ran runs jobs, which are given as id, verify command, id, verify command...; each writes a.txt.
func ran(t *testing.T, want event.Exit, jobs ...string) *workplace {
	t.Helper()
	var manifest strings.Builder
	manifest.WriteString("version: 1\nname: two\nmodel: script:turns.yaml\nprofile: build\ntasks:\n")
	for i := 0; i < len(jobs); i += 2 {
		fmt.Fprintf(&manifest, "  - {id: %s, prompt: Write a file., verify: [%s]}\n", jobs[i], jobs[i+1])
	}
	p := &workplace{Sandbox: gittest.NewSandbox(t)}
	turns := "version: 1\nturns: [{calls: [{tool: write, args: {filePath: a.txt, content: a}}]}, {text: Wrote it.}]\n"
	p.Write(".gitignore", ".millhand\nout\n", "m.yaml", manifest.String(), "turns.yaml", turns)
	p.Commit()
	env := map[string]string{"HOME": p.Home, "PATH": os.Getenv("PATH")}
	p.world = world.World{Dir: p.Root, In: strings.NewReader(""), Out: &p.out, Err: &p.log, Now: time.Now, Getenv: func(name string) string { return env[name] }, System: []string{t.TempDir()}}
	o := runtest.Options(t, p.world.Dir, strings.Fields("m.yaml --report-dir out --no-baseline --sandbox off")...)
	if err := runs.Run(t.Context(), p.world, o); fault.ExitOf(err) != want {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	return p
}

// at returns a path of the repository.
func (p *workplace) at(name string) string { return filepath.Join(p.Root, name) }

// reportOf returns the report of a run.
func reportOf(t *testing.T, dir string) *report.Report {
	t.Helper()
	r, err := savedrun.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r.Report
}

func TestForkStartsARunAndChangesNoOther(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	p := ran(t, event.ExitFailed, "one", "test -e "+flag)
	before, err := os.ReadFile(p.at("out/events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fork := ForkOptions{Request: savedsession.Request{Message: "m1"}, Opts: *invocation.New()}
	if err := fork.Parse([]string{p.at("out"), "one"}); err != nil {
		t.Fatal(err)
	}
	fork.Opts.ReportDir = p.at("out")
	if err := Fork(t.Context(), p.world, fork); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "is that of the run to fork") {
		t.Errorf("into the same directory: %v", err)
	}
	fork.Opts.ReportDir = p.at("forked")
	if err := Fork(t.Context(), p.world, fork); fault.ExitOf(err) != event.ExitOK {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	if r := reportOf(t, p.at("forked")); r.Run.ForkedFrom == nil || r.Run.ForkedFrom.Run != reportOf(t, p.at("out")).Run.ID || r.Jobs[0].Outcome != event.Passed {
		t.Errorf("%+v", r.Run)
	}
	if after, err := os.ReadFile(p.at("out/events.jsonl")); err != nil || string(after) != string(before) {
		t.Errorf("the events of the other run have changed: %v", err)
	}
	fork.Job = "other"
	if err := Fork(t.Context(), p.world, fork); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), `job "other" not found in the run; it has one`) {
		t.Errorf("another job: %v", err)
	}
}

func TestRevertedBranchHasTheFilesOfTheTurn(t *testing.T) {
	p := ran(t, event.ExitOK, "one", "test -f a.txt", "two", "test -f a.txt")
	p.out.Reset()
	turn := 0
	o := RevertOptions{Turn: &turn}
	if err := o.Parse([]string{p.at("out")}); err != nil {
		t.Fatal(err)
	}
	if err := Revert(t.Context(), p.world, o); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "the run has 2 jobs: choose one of one, two; nothing was changed") {
		t.Errorf("no job of two: %v", err)
	}
	o.job = "one"
	if err := Revert(t.Context(), p.world, o); err != nil || !strings.HasPrefix(p.out.String(), "reverted job one to the state before the agent started") {
		t.Errorf("%v: %s", err, &p.out)
	}
	if text := p.Run("diff", "HEAD", "millhand/one"); text != "" {
		t.Errorf("the branch differs from its base: %s", text)
	}
	if text := p.Run("ls-tree", "--name-only", "millhand/two", "a.txt"); text != "a.txt" {
		t.Errorf("the other job was reverted, too: %q", text)
	}
}

func TestSubagentsAndUnknownJobsAreNotForked(t *testing.T) {
	run := &event.Run{Jobs: []event.PlannedJob{{ID: "one"}, {ID: "two"}}}
	for job, want := range map[string]string{
		"one": "", "": "the run has 2 jobs: choose one of one, two", "one.task-3": "the session of a subagent, which belongs to a call of job one: fork that job at a message (subagent 3)", "x\ny": "not found in the run",
	} {
		err := named(run, job, "fork")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", job, err)
		}
	}
}

func TestForkAndRevertNeedTheirArguments(t *testing.T) {
	turn := 1
	for want, err := range map[string]error{
		"requires RUN":         (&ForkOptions{}).Parse(nil),
		"missing --at MESSAGE": (&ForkOptions{}).Parse([]string{"r"}),
		"missing --turn N":     (&RevertOptions{}).Parse([]string{"r"}),
		"requires RUN, ":       (&RevertOptions{Turn: &turn}).Parse([]string{"r", "j", "k"}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
