package runs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/runtest"
	"github.com/millhand/millhand/report"
)

// workplace is a repository with manifests, and the world of the commands that run in it.
type workplace struct {
	*gittest.Sandbox
	world    world.World
	out, log strings.Builder // of the last command
}

// workIn commits files, which are given as name, content, name, content... to a new repository.
func workIn(t *testing.T, files ...string) *workplace {
	t.Helper()
	p := &workplace{Sandbox: gittest.NewSandbox(t)}
	p.Write(append(slices.Clip(files), ".gitignore", ".millhand\nout\n")...)
	p.Commit()
	env := map[string]string{"HOME": p.Home, "PATH": os.Getenv("PATH")}
	p.world = world.World{Dir: p.Root, In: strings.NewReader(""), Out: &p.out, Err: &p.log, Now: time.Now, Getenv: func(name string) string { return env[name] }, System: []string{t.TempDir()}, Rollouts: waves.Rollouts{}}
	return p
}

// options returns the options of "millhand run" with a command line.
func (p *workplace) options(line string) invocation.Options {
	return runtest.Options(p.T, p.world.Dir, strings.Fields(line)...)
}

// run runs "millhand run" with a command line, without a sandbox, and returns its exit code and error.
func (p *workplace) run(line string) (event.Exit, error) {
	p.T.Helper()
	return p.do(p.options(line + " --sandbox off"))
}

func (p *workplace) do(o invocation.Options) (event.Exit, error) {
	p.T.Helper()
	p.out.Reset()
	p.log.Reset()
	err := o.UsePrompt(p.T.Context(), p.world)
	if err == nil {
		err = Run(p.T.Context(), p.world, o)
	}
	return fault.ExitOf(err), err
}

// report reads report.json of a report directory.
func (p *workplace) report(dir string) *report.Report {
	p.T.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		p.T.Fatal(err)
	}
	r := &report.Report{}
	if err := json.Unmarshal(text, r); err != nil {
		p.T.Fatal(err)
	}
	return r
}

// at returns a path of the repository.
func (p *workplace) at(name string) string { return filepath.Join(p.Root, name) }

const (
	twoJobs = `version: 1
name: two
model: script:turns.yaml
profile: build
tasks:
  - {id: one, prompt: Write a file., verify: [test -f a.txt]}
  - {id: two, prompt: Write a file., verify: [test -f a.txt], needs: [one]}
`
	writes = `version: 1
turns:
  - calls: [{tool: write, args: {filePath: a.txt, content: "a\n"}}]
  - text: Wrote it.
`
	writesNothing = "version: 1\nturns: [{text: Done.}]\n"
)

func TestRunCommitsAndReportsWhatItsJobsMade(t *testing.T) {
	p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
	if exit, err := p.run("m.yaml"); exit != event.ExitOK {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	for _, job := range []string{"one", "two"} {
		if text := p.Run("show", "millhand/"+job+":a.txt"); text != "a" {
			t.Errorf("a.txt of %s: %q", job, text)
		}
	}
	if text := p.Run("status", "--porcelain"); text != "" {
		t.Errorf("the working tree has changed: %s", text)
	}
	dirs, err := filepath.Glob(p.at(".millhand/runs/*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	// The path of the hint is relative to the current directory.
	if hint := "show them: millhand report show " + strings.TrimPrefix(dirs[0], p.Root+"/") + ", or open"; !strings.Contains(p.out.String(), "2 passed") || !strings.Contains(p.out.String(), hint) {
		t.Errorf("%s has no %q", &p.out, hint)
	}
	if r := p.report(dirs[0]); r.Run.Outcome != event.Passed || len(r.Jobs) != 2 {
		t.Errorf("%+v", r.Run)
	}
}

func TestExitCodeFollowsFailOn(t *testing.T) {
	for line, want := range map[string]event.Exit{"": event.ExitFailed, " --fail-on never": event.ExitOK, " --fail-on verify": event.ExitFailed, " --fail-fast": event.ExitFailed} {
		p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writesNothing)
		if exit, err := p.run("m.yaml --report-dir out --no-baseline" + line); exit != want {
			t.Errorf("%q: exit code %d (%v): %s", line, exit, err, &p.out)
		}
		r := p.report(p.at("out"))
		if r.Jobs[0].Outcome != event.Failed || r.Jobs[1].Outcome != event.Skipped || r.Run.ExitCode != want {
			t.Errorf("%q: %s and %s, exit code %d", line, r.Jobs[0].Outcome, r.Jobs[1].Outcome, r.Run.ExitCode)
		}
	}
}

func TestResultIsPrintedInTheFormOfTheOptions(t *testing.T) {
	for line, want := range map[string]func(text string) bool{
		"--quiet": func(text string) bool { return strings.Count(text, "\n") == 1 && strings.Contains(text, "2 passed") },
		"--json":  func(text string) bool { return json.Valid([]byte(text)) && strings.Contains(text, `"plan_hash"`) },
		"": func(text string) bool {
			return strings.HasPrefix(text, "OUTCOME ") && strings.Contains(text, "reports: ")
		},
	} {
		p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
		if exit, err := p.run("m.yaml " + line); exit != event.ExitOK || !want(p.out.String()) {
			t.Errorf("%q: %v: %s", line, err, &p.out)
		}
		if quiet := line == "--quiet"; quiet != (p.log.Len() == 0) {
			t.Errorf("%q: log %q", line, &p.log)
		}
	}
}

func TestNothingIsRunWithoutEverythingThatARunNeeds(t *testing.T) {
	plain := t.TempDir() // no repository
	for manifest, want := range map[string]string{
		strings.ReplaceAll(twoJobs, "prompt:", "promt:"):                          "nothing was run",
		strings.ReplaceAll(twoJobs, "script:turns.yaml", "openai/gpt-5-mini"):     "OPENAI_API_KEY",
		strings.ReplaceAll(twoJobs, "script:turns.yaml", "script:missing.yaml"):   "missing.yaml",
		strings.ReplaceAll(twoJobs, "needs: [one]", "commit: {sign: ssh}"):        "MILLHAND_SIGNING_KEY",
		strings.ReplaceAll(twoJobs, "needs: [one]", "publish: {mode: push}"):      "origin",
		strings.ReplaceAll(twoJobs, "needs: [one]", "repos: [{path: "+plain+"}]"): plain,
	} {
		p := workIn(t, "m.yaml", manifest, "turns.yaml", writes)
		exit, err := p.run("m.yaml --report-dir out")
		if exit == event.ExitOK || exit == event.ExitFailed {
			t.Errorf("exit code %d, want %q", exit, want)
		}
		text := p.log.String()
		if err != nil {
			text += fmt.Sprint(err, fault.ProblemsOf(err))
		}
		if _, err := os.Stat(p.at("out/report.json")); err == nil || !strings.Contains(text, want) {
			t.Errorf("%s: want %q", text, want)
		}
	}
}

const flagged = `version: 1
model: script:turns.yaml
profile: build
tasks: [{id: one, prompt: Write a file., verify: [test -f FLAG]}]
`

// failed returns a workplace with a run in the directory out whose only job failed until the file that is returned exists.
func failed(t *testing.T) (p *workplace, flag string) {
	t.Helper()
	flag = filepath.Join(t.TempDir(), "flag")
	p = workIn(t, "m.yaml", strings.ReplaceAll(flagged, "FLAG", flag), "turns.yaml", writes)
	if exit, err := p.run("m.yaml --report-dir out --no-baseline"); exit != event.ExitFailed {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	return p, flag
}

// A run is continued with its own manifests, wherever the process is, which stays there.
func TestRunIsResumedFromAnotherDirectory(t *testing.T) {
	p, flag := failed(t)
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	p.world.Dir = elsewhere
	o := p.options("--resume " + p.at("out") + " --only-failed")
	if exit, err := p.do(o); exit != event.ExitOK {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	if !strings.Contains(p.out.String(), "show them: millhand report show "+p.at("out")) {
		t.Errorf("the path is not valid in %s: %s", elsewhere, &p.out)
	}
	if here, err := os.Getwd(); err != nil || here != elsewhere {
		t.Errorf("the process is in %s (%v)", here, err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if text := p.Run("show", "millhand/one:a.txt"); text != "a" {
		t.Errorf("%q", text)
	}
}

func TestChangedRunsAreNotResumed(t *testing.T) {
	p, _ := failed(t)
	held, err := rundir.Reopen(t.Context(), p.at("out"), p.world.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.do(p.options("--resume " + p.at("out"))); exit != event.ExitUsage || !strings.Contains(err.Error(), p.at("out")) {
		t.Errorf("a run in progress: %v", err)
	}
	held.Close()
	for line, want := range map[string]string{
		"--resume " + p.at("missing"):                       "not found",
		"--resume " + p.at("out") + " --model openai/other": "--model is not one of them",
	} {
		if exit, err := p.do(p.options(line)); exit != event.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	p.Write("m.yaml", strings.ReplaceAll(flagged, "Write a file.", "Write another."))
	before := p.report(p.at("out"))
	exit, err := p.do(p.options("--resume " + p.at("out")))
	if exit != event.ExitUsage || !strings.Contains(err.Error(), "the manifest has changed since the run was started (changed: one)") {
		t.Errorf("%v", err)
	}
	if after := p.report(p.at("out")); after.Run.FinishedAt != before.Run.FinishedAt {
		t.Error("the reports were written again")
	}
}

func TestSessionThatHasEndedContinuesWithAnotherPrompt(t *testing.T) {
	p, flag := failed(t)
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Write("turns.yaml", strings.NewReplacer("a.txt", "b.txt", "a\\n", "b\\n").Replace(writes))
	o := *invocation.New()
	o.Resume, o.FollowUp = p.at("out"), invocation.FollowUp{Prompt: "Write b.txt, too."}
	if exit, err := p.do(o); exit != event.ExitOK {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	if text := p.Run("show", "millhand/one:b.txt"); text != "b" {
		t.Errorf("%q", text)
	}
	o.FollowUp.By = &invocation.Following{Policies: []string{"missing.yaml"}}
	if exit, err := p.do(o); exit == event.ExitOK || !strings.Contains(fmt.Sprint(err, fault.ProblemsOf(err)), "missing.yaml") {
		t.Errorf("a policy of the prompt is not read: %v", err)
	}
	o.FollowUp.Job, o.FollowUp.By = "two", nil
	if exit, err := p.do(o); exit != event.ExitUsage || !strings.Contains(err.Error(), `job "two" not found in the run`) {
		t.Errorf("another job: %v", err)
	}
}

const fleet = `version: 1
name: fleet
model: script:turns.yaml
profile: build
repos: [{copy: api}, {copy: web}, {copy: cli}]
rollout: {canary: [api], waves: [100%]}
tasks: [{id: notice, prompt: Add a notice., verify: [test -f a.txt]}]
`

func TestWavesFollowOneAnother(t *testing.T) {
	p := workIn(t, "m.yaml", fleet, "turns.yaml", writes, "api/README", "api", "web/README", "web", "cli/README", "cli")
	var seen []string
	for i, want := range []int{1, 2, 0} {
		if exit, err := p.run("m.yaml"); exit != event.ExitOK || strings.Count(p.out.String(), "\npassed ") != want {
			t.Errorf("run %d: want %d jobs: %v: %s%s", i+1, want, err, &p.out, &p.log)
		}
		dirs, err := filepath.Glob(p.at(".millhand/runs/*"))
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return slices.Contains(seen, dir) })
		if err != nil || len(dirs) != 1 {
			t.Fatalf("%v, %v", dirs, err)
		}
		seen = append(seen, dirs[0])
		if end := p.report(dirs[0]).Run.Rollout; end == nil || want > 0 && (end.Passed != want || end.Wave != i+1) {
			t.Errorf("run %d: %+v", i+1, end)
		}
	}
	if !strings.Contains(p.out.String(), "rollout fleet: all 2 waves complete") {
		t.Errorf("%s", &p.out)
	}
	p.Write("m.yaml", twoJobs)
	if exit, err := p.run("m.yaml --after " + p.at("out")); exit != event.ExitUsage || !strings.Contains(err.Error(), "--after requires a manifest with the key rollout") {
		t.Errorf("%v", err)
	}
}

// A wave that was interrupted is continued, with the flags of this invocation that a resumed run accepts.
func TestWaveThatWasKilledIsContinued(t *testing.T) {
	p := workIn(t, "m.yaml", strings.ReplaceAll(fleet, "verify:", "commit: false, verify:"), "turns.yaml", writes, "api/README", "api", "web/README", "web", "cli/README", "cli")
	if exit, err := p.run("m.yaml"); exit != event.ExitOK {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(p.at(".millhand/runs/*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	events := filepath.Join(dirs[0], "events.jsonl")
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n") // as if it had been killed at its start
	if err := os.WriteFile(events, []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.run("m.yaml"); exit != event.ExitOK || !strings.Contains(p.log.String(), "continuing run "+filepath.Base(dirs[0])+" of the rollout") || strings.Count(p.out.String(), "\npassed ") != 1 {
		t.Errorf("%v: %s%s", err, &p.out, &p.log)
	}
	if again, err := filepath.Glob(p.at(".millhand/runs/*")); err != nil || len(again) != 1 {
		t.Errorf("%v, %v", again, err)
	}
}

func TestPromptPrintsItsMessageOnly(t *testing.T) {
	p := workIn(t, "turns.yaml", writes)
	exit, err := p.run("-p Write. --model script:turns.yaml --profile build --output-file said.txt --report-dir out")
	if exit != event.ExitOK || p.out.String() != "Wrote it.\n" {
		t.Errorf("%v: %q %s", err, &p.out, &p.log)
	}
	if text, err := os.ReadFile(p.at("out/manifest.yaml")); err != nil || !strings.Contains(string(text), "Write.") {
		t.Errorf("a process that resumes it reads the prompt as %q, %v", text, err)
	}
	for name, want := range map[string]string{"said.txt": "Wrote it.\n", "a.txt": "a\n"} {
		if text, err := os.ReadFile(p.at(name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
