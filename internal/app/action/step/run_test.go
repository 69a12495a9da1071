package step

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/tasks/problem"
)

// file writes a text to a new file, and returns its path; "" returns one that does not exist.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if text != "" {
		write(t, name, text)
	}
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// workflow is a step in a workflow, with a directory for its checkout and files for what it writes.
type workflow struct {
	*Step
	dir             string
	log             *strings.Builder
	output, summary string
}

// inWorkflow returns a step whose standard input is a key.
func inWorkflow(t *testing.T, key string, env map[string]string) workflow {
	t.Helper()
	f := workflow{dir: t.TempDir(), log: &strings.Builder{}, output: file(t, ""), summary: file(t, "")}
	all := map[string]string{"GITHUB_OUTPUT": f.output, "GITHUB_STEP_SUMMARY": f.summary, "GITHUB_WORKSPACE": f.dir, "RUNNER_TEMP": t.TempDir(), "INPUT_PROMPT": "Look."}
	maps.Copy(all, env)
	f.Step = New(world.World{
		In: strings.NewReader(key), Out: io.Discard, Err: f.log, Now: time.Now, Version: "1.2.3", Secrets: []string{"sk-of-the-machine"},
		Getenv: func(name string) string { return all[name] },
	})
	return f
}

// is reports what the log, the outputs and the summary lack of what they shall contain.
func (f workflow) is(t *testing.T, log, output, summary string) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	outputs, _ := os.ReadFile(f.output) // without one it contains nothing
	page, _ := os.ReadFile(f.summary)
	for name, c := range map[string]struct{ got, want string }{"log": {f.log.String(), log}, "output": {string(outputs), output}, "summary": {string(page), summary}} {
		if !strings.Contains(c.got, c.want) || c.want == "" && c.got != "" {
			t.Errorf("the %s is %q, want %q", name, c.got, c.want)
		}
	}
	if n := strings.Count(string(outputs), "conclusion<<"); n > 1 {
		t.Errorf("%d conclusions", n)
	}
}

func TestAStepThatRunsNothingReportsWhy(t *testing.T) {
	t.Parallel()
	issue := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": file(t, comment("x[bot]", 0))}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(issue)
		maps.Copy(all, more)
		return all
	}
	for name, c := range map[string]struct {
		env                  map[string]string
		exit                 event.Exit
		log, output, summary string
	}{
		"invalid inputs":   {map[string]string{"INPUT_UNTRUSTED": "x"}, event.ExitUsage, "::error title=millhand::input untrusted: invalid value", "failure\n", "input untrusted: invalid value"},
		"an invalid page":  {map[string]string{"INPUT_SUMMARY": "x"}, event.ExitUsage, "::error title=millhand::input summary: invalid value", "failure\n", "input summary"},
		"no page":          {map[string]string{"INPUT_UNTRUSTED": "x", "INPUT_SUMMARY": " False "}, event.ExitUsage, "::error", "failure\n", ""},
		"an outsider":      {with(nil), event.ExitOK, "::notice title=millhand::nothing was run: the event issue_comment", "skipped\n", "## millhand: nothing was run\n\nthe event issue"},
		"another phrase":   {with(map[string]string{"INPUT_TRIGGER_PHRASE": "/mill"}), event.ExitOK, "millhand: nothing was run: the event issue_comment does not contain", "skipped\n", "does not contain"},
		"one who must not": {with(map[string]string{"INPUT_OUTSIDERS": "fail"}), event.ExitPolicy, "::error title=millhand::the event issue_comment does not start", fmt.Sprintf("%d\n", event.ExitPolicy), "is a bot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inWorkflow(t, "", c.env)
			if dir, exit := f.Read(t.Context()); dir != "" || exit != c.exit {
				t.Errorf("directory %q, exit code %d, want %d", dir, exit, c.exit)
			}
			f.is(t, c.log, c.output, c.summary)
			if quiet := name == "another phrase"; quiet != !strings.Contains(f.log.String(), "::") {
				t.Errorf("annotations: %s", f.log)
			}
		})
	}
}

func TestInputsBecomeACommandLine(t *testing.T) {
	t.Parallel()
	f := inWorkflow(t, " sk-of-the-input\n", map[string]string{
		"INPUT_WORKING_DIRECTORY": "sub", "INPUT_MODEL": "anthropic/claude", "INPUT_REPORT_DIR": "out", "INPUT_COMMENT": "sticky", "INPUT_ALLOW_ACTORS": "eve",
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": file(t, comment("eve", 0)),
	})
	dir, exit := f.Read(t.Context())
	if dir != "sub" || exit != event.ExitOK {
		t.Fatalf("directory %q, exit code %d: %s", dir, exit, f.log)
	}
	write(t, filepath.Join(f.dir, "events.jsonl"), "of another run")
	line, exit := f.Prepare(t.Context(), f.dir, nil)
	if line == nil || exit != event.ExitOK {
		t.Fatalf("exit code %d: %s", exit, f.log)
	}
	args := strings.Join(line.Args, " ")
	if !strings.Contains(args, "--report-dir=out --model=anthropic/claude --untrusted -- ") {
		t.Errorf("arguments %s", args)
	}
	manifest := line.Args[len(line.Args)-1]
	text, err := os.ReadFile(manifest)
	if err != nil || !strings.Contains(string(text), "Look.") || !strings.Contains(string(text), "sticky") || !strings.Contains(string(text), "7") {
		t.Errorf("manifest %s, %v", text, err)
	}
	w := line.World
	if got := w.Redactor(nil).Text("sk-of-the-input sk-of-the-machine"); strings.Contains(got, "sk-") {
		t.Errorf("secrets in %s", got)
	}
	if in, err := io.ReadAll(w.In); len(in) > 0 || err != nil || w.Getenv("ANTHROPIC_API_KEY") != "sk-of-the-input" || w.Dir != f.dir || w.Version != "1.2.3" || w.Now == nil {
		t.Errorf("input %q, %v; key %q; directory %s; version %s", in, err, w.Getenv("ANTHROPIC_API_KEY"), w.Dir, w.Version)
	}
	fmt.Fprint(w.Err, "::error::of the run\n::group::of the run\n")
	fmt.Fprint(w.Out, "::error::of the run\n")
	if exit := f.Finish(t.Context(), fault.Silent(event.ExitFailed)); exit != event.ExitFailed {
		t.Errorf("exit code %d", exit)
	}
	if _, err := os.Stat(manifest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the manifest of the prompt: %v", err)
	}
	f.is(t, "millhand: manifests are not trusted (--untrusted): eve caused the event issue_comment", "failure\n", "")
	if log := f.log.String(); strings.Contains(log, "::error::of") || !strings.Contains(log, "\n::group::of the run\n") {
		t.Errorf("log %s", log)
	}
}

func TestWhatPreventsARunIsItsResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key string
		env map[string]string
		err error
		why string
	}{
		"no directory":         {"", nil, errors.New("chdir sub: no such file or directory"), "chdir sub: no such file or directory"},
		"a key with two lines": {"a\nb", nil, nil, "input api-key: must be one line of text"},
		"an event without one": {"", map[string]string{"INPUT_COMMENT": "true", "GITHUB_EVENT_PATH": file(t, "{}")}, nil, "input comment: the event has no issue or pull request"},
		"no event":             {"", map[string]string{"INPUT_COMMENT": "true"}, nil, "input comment: read the payload of the event: open"},
		"no temporary files":   {"", map[string]string{"RUNNER_TEMP": "/dev/null/none"}, nil, "write the prompt: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inWorkflow(t, c.key, c.env)
			if dir, _ := f.Read(t.Context()); dir != "." {
				t.Fatalf("directory %q: %s", dir, f.log)
			}
			if line, exit := f.Prepare(t.Context(), f.dir, c.err); line != nil || exit != event.ExitUsage {
				t.Errorf("command line %v, exit code %d", line, exit)
			}
			f.is(t, "::error title=millhand::"+c.why, fmt.Sprintf("%d\n", event.ExitUsage), "nothing was run\n\n"+c.why)
		})
	}
}

// prepared returns a step that is ready to run, with inputs.
func prepared(t *testing.T, env map[string]string) workflow {
	t.Helper()
	f := inWorkflow(t, "sk-of-the-input", env)
	f.Read(t.Context())
	if line, _ := f.Prepare(t.Context(), f.dir, nil); line == nil {
		t.Fatal(f.log)
	}
	return f
}

func TestARefusedManifestIsAnnotatedAtItsLine(t *testing.T) {
	t.Parallel()
	f := prepared(t, nil)
	err := fault.Wrap(event.ExitUsage, fault.Refused{Text: "2 problems", Problems: problem.List{
		{File: "m.yaml", Line: 3, Column: 5, What: "invalid model sk-of-the-input"}, {File: "--max-cost", What: "must be a number"},
	}})
	if exit := f.Finish(t.Context(), err); exit != event.ExitUsage {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "millhand: 2 problems", "failure\n", "invalid model")
	log := f.log.String()
	for _, want := range []string{"::error title=millhand%3A m.yaml,file=m.yaml,line=3,col=5::m.yaml:3:5: invalid model ", "::error title=millhand%3A input max-cost::input max-cost: must be a number"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	if page, err := os.ReadFile(f.summary); err != nil || !strings.Contains(string(page), "input max-cost") || strings.Contains(string(page)+log, "sk-of") {
		t.Errorf("summary %s, %v, log %s", page, err, log)
	}
}

func TestAnErrorWithoutProblemsIsAnnotated(t *testing.T) {
	t.Parallel()
	f := prepared(t, nil)
	if exit := f.Finish(t.Context(), errors.New("--max-cost: invalid number; see 'millhand run --help'")); exit != event.ExitUsage {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "::error title=millhand::input max-cost: invalid number\n", "failure\n", "input max-cost: invalid number\n")
}

// events writes a run of a job that made a commit and failed, as its report directory has it.
func events(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := reporttest.Lines(t, []event.Event{
		reporttest.Planned("a"), reporttest.Started("a"),
		{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: "0123456789", Branch: "millhand/a", Message: "m"}},
		{Type: event.WarningIssued, Warning: &event.Warning{Message: "branch millhand/a" + planned.OnlyHere + "publish it"}},
		{Type: event.WarningIssued, Warning: &event.Warning{Message: "something else"}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Reason: "gave up", ExitCode: event.ExitFailed}),
		reporttest.RunEnded(event.Failed, event.ExitFailed),
	}...)
	write(t, filepath.Join(dir, "events.jsonl"), string(text))
	write(t, filepath.Join(dir, "summary.md"), "# The page\n")
}

func TestAStepReportsItsOwnRun(t *testing.T) {
	t.Parallel()
	f := prepared(t, map[string]string{"INPUT_REPORT_DIR": "out"})
	events(t, filepath.Join(f.dir, "out"))
	write(t, f.summary, "# Before\n")
	if exit := f.Finish(t.Context(), fault.Silent(event.ExitFailed)); exit != event.ExitFailed {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "::error title=a%3A failed::gave up\n", filepath.Join(f.dir, "out", "report.json"), "# Before\n# The page\n")
	if log := f.log.String(); strings.Count(log, "::warning") != 1 || !strings.Contains(log, "::warning title=millhand::branch millhand/a is only on this runner") {
		t.Errorf("log %s", log)
	}
}

func TestARunWithoutCommitsLeavesNoneOnItsRunner(t *testing.T) {
	t.Parallel()
	f := prepared(t, nil)
	rep := reporttest.Fold(t, reporttest.Planned("a"), event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: "x" + planned.OnlyHere}})
	f.annotateOnRunner(rep)
	f.is(t, "", "", "")
}

func TestASummaryIsOnlyWrittenIfAsked(t *testing.T) {
	t.Parallel()
	f := prepared(t, map[string]string{"INPUT_REPORT_DIR": "out", "INPUT_SUMMARY": "false"})
	events(t, filepath.Join(f.dir, "out"))
	f.Finish(t.Context(), fault.Silent(event.ExitFailed))
	f.is(t, "gave up", "millhand/a", "")
}

func TestEventsOfAnEarlierRunAreNotReported(t *testing.T) {
	t.Parallel()
	f := inWorkflow(t, "", map[string]string{"INPUT_REPORT_DIR": "out"})
	events(t, filepath.Join(f.dir, "out"))
	f.Read(t.Context())
	f.Prepare(t.Context(), f.dir, nil)
	if exit := f.Finish(t.Context(), errors.New("the report directory is not empty")); exit != event.ExitUsage {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "::error title=millhand::the report directory is not empty", "failure\n", "the report directory is not empty")
	if outputs, err := os.ReadFile(f.output); err != nil || strings.Contains(string(outputs), "run-id") {
		t.Errorf("outputs %s, %v", outputs, err)
	}
}

func TestEventsThatCannotBeReadAreAWarning(t *testing.T) {
	t.Parallel()
	f := prepared(t, map[string]string{"INPUT_REPORT_DIR": "."})
	write(t, filepath.Join(f.dir, "events.jsonl"), "x\nx\n")
	if exit := f.Finish(t.Context(), nil); exit != event.ExitOK {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "::warning title=millhand::read "+filepath.Join(f.dir, "events.jsonl"), "exit-code", "")
}

func TestFilesOfARunnerThatCannotBeWrittenAreAWarning(t *testing.T) {
	t.Parallel()
	f := prepared(t, map[string]string{"INPUT_REPORT_DIR": "out", "GITHUB_OUTPUT": t.TempDir()})
	events(t, filepath.Join(f.dir, "out"))
	if err := os.Remove(filepath.Join(f.dir, "out", "summary.md")); err != nil {
		t.Fatal(err)
	}
	if exit := f.Finish(t.Context(), fault.Silent(event.ExitFailed)); exit != event.ExitFailed {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "::warning title=millhand::write GITHUB_OUTPUT: ", "", "")
	if log := f.log.String(); !strings.Contains(log, "::warning title=millhand::write GITHUB_STEP_SUMMARY: open "+filepath.Join(f.dir, "out", "summary.md")) {
		t.Errorf("log %s", log)
	}
}

func TestAStepOutsideOfAWorkflowWritesNoFiles(t *testing.T) {
	t.Parallel()
	f := prepared(t, map[string]string{"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""})
	if exit := f.Finish(t.Context(), fault.Silent(event.ExitFailed)); exit != event.ExitFailed {
		t.Errorf("exit code %d", exit)
	}
	f.is(t, "", "", "")
}
