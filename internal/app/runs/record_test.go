package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
)

// events reads the events of a report directory, whose numbers have no gaps and, with evidence, whose chain is closed.
func (p *workplace) events(dir string, evidence bool) (all []event.Event) {
	p.T.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		p.T.Fatal(err)
	}
	before := ""
	for line := range bytes.Lines(text) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			p.T.Fatal(err)
		}
		all = append(all, e)
		if e.Seq != int64(len(all)) || evidence && e.Prev != before {
			p.T.Errorf("event %d has the number %d, and is chained to %q, want %q", len(all), e.Seq, e.Prev, before)
		}
		sum := sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
		before = hex.EncodeToString(sum[:])
	}
	return all
}

// A run leaves what its manifest and its flags ask for, and so does the process that continues it: chained events without secrets,
// telemetry, recorded models, its worktree, and its cost of the day, of which the next process gets the rest.
func TestARunLeavesAllThatItIsAskedFor(t *testing.T) {
	var sent atomic.Int64
	refused := false
	telemetry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		if refused {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer telemetry.Close()
	flag := filepath.Join(t.TempDir(), "flag")
	p := workIn(t, "m.yaml", strings.NewReplacer("FLAG", flag, "}]\n", "}, {id: two, prompt: \"Write ${{ run.id }}.\"}]\nevidence: {}\nbudget: {time: 10m}\n").Replace(flagged),
		"turns.yaml", strings.ReplaceAll(writes, "Wrote it.", "Wrote it, key-of-the-checkout."), "p.yaml", "version: 1\nbudget: {day: 5}\n")
	p.Run("config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46a2V5LW9mLXRoZS1jaGVja291dA==")
	getenv := p.world.Getenv
	p.world.Getenv = func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return telemetry.URL
		}
		return getenv(name)
	}
	exit, err := p.run("m.yaml --report-dir out --no-baseline --policy p.yaml --record " + p.at("recorded.jsonl"))
	if exit != event.ExitFailed {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	first := p.events(p.at("out"), true)
	if n := sent.Load(); n == 0 {
		t.Error("no telemetry was sent")
	}
	sent.Store(0)
	refused = true
	recorded, err := os.ReadFile(p.at("recorded.jsonl"))
	if err != nil || strings.Contains(string(recorded), "key-of-the-checkout") || !strings.Contains(string(recorded), "Wrote it, ") {
		t.Errorf("%v: %s", err, recorded)
	}
	p.Remove("recorded.jsonl")
	id := first[0].Run.ID
	for _, e := range first {
		if e.Run != nil && (len(e.Run.Policies) != 1 || e.Run.Evidence == nil || e.Run.MaxCostUSD == nil || e.Run.MaxCostUSD.String() != "5") {
			t.Errorf("the start of the run: %+v, budget %s", e.Run, e.Run.MaxCostUSD)
		}
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.run("--resume " + p.at("out") + " --only-failed"); exit != event.ExitOK {
		t.Fatalf("%v: %s%s", err, &p.out, &p.log)
	}
	if !strings.Contains(p.log.String(), "OpenTelemetry: ") {
		t.Errorf("telemetry was refused; the log is %s", &p.log)
	}
	all := p.events(p.at("out"), true)
	if len(all) <= len(first) || sent.Load() == 0 {
		t.Errorf("%d events after %d, telemetry %d", len(all), len(first), sent.Load())
	}
	for _, e := range all[len(first):] {
		if e.Run != nil && (e.Run.MaxCostUSD == nil || e.Run.MaxCostUSD.String() != "5") {
			t.Errorf("the second process has a budget of %s", e.Run.MaxCostUSD)
		}
	}
	for _, name := range []string{"out/events.jsonl", "out/report.json"} {
		text, err := os.ReadFile(p.at(name))
		if err != nil || strings.Contains(string(text), "key-of-the-checkout") || !strings.Contains(string(text), "Wrote it, ") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
	r := p.report(p.at("out"))
	if r.Run.Outcome != event.Passed || len(r.Jobs) != 2 || r.Jobs[0].Outcome != event.Passed || r.Jobs[1].Outcome != event.Passed || r.Jobs[1].Turns != 2 {
		t.Errorf("%+v", r.Run)
	}
	if message := p.Run("log", "-1", "--format=%B", "millhand/two"); !strings.Contains(message, "\nMillhand-Evidence: sha256:") || !strings.HasPrefix(message, "two: Write "+id) {
		t.Errorf("the commit is %s", message)
	}
	if last := all[len(all)-1]; last.Type != event.Sealed {
		t.Errorf("the last event is %s", last.Type)
	}
}

// What can't be read or written before the first job refuses the run, and leaves what is there.
func TestARunIsRefusedBeforeItsFirstJob(t *testing.T) {
	p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes, "day.yaml", "version: 1\nbudget: {day: 5}\n", "taken/report.json", "{}")
	getenv := p.world.Getenv
	p.world.Getenv = func(name string) string {
		if name == "HOME" {
			return ""
		}
		return getenv(name)
	}
	for line, c := range map[string]struct {
		exit   event.Exit
		reason string
	}{
		"--log-format nope":              {event.ExitUsage, "nope"},
		"--report-dir taken":             {event.ExitUsage, "taken"},
		"--report-dir m.yaml":            {event.ExitUsage, "m.yaml"},
		"--record missing/recorded.json": {event.ExitUsage, "missing"},
		"--policy missing.yaml":          {event.ExitUsage, "missing.yaml"},
		"--policy day.yaml":              {event.ExitUsage, "set HOME or XDG_STATE_HOME"},
	} {
		exit, err := p.run("m.yaml " + line)
		if exit != c.exit || err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: exit code %d, %v", line, exit, err)
		}
	}
	if text, err := os.ReadFile(p.at("taken/report.json")); string(text) != "{}" || err != nil {
		t.Errorf("the report of others is %q, %v", text, err)
	}
	if branches := p.Run("branch", "--list", "millhand/*"); branches != "" {
		t.Errorf("branches %s", branches)
	}
}

// A report that can't be written is an internal fault, although all jobs have passed, and the result is printed. The worktree stays
// with --keep.
func TestAReportThatCantBeWrittenFailsTheRun(t *testing.T) {
	p := workIn(t, "m.yaml", "", "turns.yaml", writes)
	p.Write("m.yaml", strings.ReplaceAll(flagged, "test -f FLAG", "mkdir -p "+p.at("out/report.json/x")))
	exit, err := p.run("m.yaml --report-dir out --no-baseline --fail-on never --keep")
	if exit != event.ExitInternal || err == nil || !strings.Contains(err.Error(), "report.json") || !strings.Contains(p.out.String(), "OUTCOME ") {
		t.Errorf("exit code %d, %v: %s", exit, err, &p.out)
	}
	for _, e := range p.events(p.at("out"), false) {
		if e.JobStart == nil {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(e.JobStart.Workspace, "a.txt")); string(text) != "a\n" {
			t.Errorf("the worktree is to stay, and has %q, %v", text, err)
		}
	}
}

// full is a stream that nothing can be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A result that can't be written to standard output is in the reports, which the error names; on GitHub, failures are annotations of the
// log; and advice about a profile is printed also with --quiet.
func TestAResultIsNotLost(t *testing.T) {
	p := workIn(t, "m.yaml", strings.ReplaceAll(twoJobs, "profile: build", "profile: readonly"), "turns.yaml", writes)
	out := &world.Output{To: full{}}
	p.world.Out = out
	getenv := p.world.Getenv
	p.world.Getenv = func(name string) string {
		if name == "GITHUB_ACTIONS" {
			return "true"
		}
		return getenv(name)
	}
	exit, err := p.run("m.yaml --report-dir out --no-baseline --quiet")
	if exit != event.ExitFailed {
		t.Errorf("%v: %s", err, &p.log)
	}
	if err := out.Failure(); err == nil || !strings.HasSuffix(err.Error(), "the reports are in "+p.at("out")) {
		t.Errorf("%v", err)
	}
	if text := p.log.String(); !strings.Contains(text, "\nmillhand: one: ") || !strings.Contains(text, "::error") {
		t.Errorf("the log is %s", text)
	}
}

// A run in the directory of one that was killed reports how to continue that one.
func TestAKilledRunIsNamedWhereItWas(t *testing.T) {
	p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
	if exit, err := p.run("m.yaml --report-dir out"); exit != event.ExitOK {
		t.Fatal(err)
	}
	events := p.at("out/events.jsonl")
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	p.Run("branch", "-D", "millhand/one", "millhand/two")
	for _, quiet := range []bool{true, false} {
		if err := os.WriteFile(events, []byte(first+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.run("m.yaml --report-dir out" + map[bool]string{true: " --quiet"}[quiet]); exit != event.ExitOK || strings.Contains(p.log.String(), " has an unfinished run (") == quiet {
			t.Errorf("%v: %s", err, &p.log)
		}
		p.Run("branch", "-D", "millhand/one", "millhand/two")
	}
}

// A run whose start does not fit what is to be continued is refused with its reason, and its events stay.
func TestARunThatDoesNotFitIsNotContinued(t *testing.T) {
	for name, c := range map[string]struct {
		line   string                   // of the run
		start  func(run map[string]any) // of the event
		change func(p *workplace)
		resume string
		reason string
	}{
		"without its manifest":          {change: func(p *workplace) { p.Remove("m.yaml") }, reason: "nothing was run"},
		"with evidence that it had not": {change: func(p *workplace) { p.Write("m.yaml", twoJobs+"evidence: {sign: none}\n") }, resume: " --accept-changes", reason: "evidence of the manifest has changed"},
		"without its command line":      {start: func(run map[string]any) { delete(run, "invocation") }, reason: "the run does not say how it was started"},
		"a fork":                        {start: func(run map[string]any) { run["forked_from"] = map[string]any{"run": "r0", "job": "one"} }, resume: " --only-failed", reason: "--only-failed can't be used with a fork"},
		"a fork of another job":         {start: func(run map[string]any) { run["forked_from"] = map[string]any{"run": "r0", "job": "three"} }, reason: "job three is not in the plan any more"},
		"a prompt without its text":     {line: "-p Write. --model script:turns.yaml --profile build", change: func(p *workplace) { p.Remove("out/manifest.yaml") }, reason: "manifest.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
			line := c.line
			if line == "" {
				line = "m.yaml"
			}
			if exit, err := p.run(line + " --report-dir out"); exit != event.ExitOK {
				t.Fatal(err)
			}
			events := p.at("out/events.jsonl")
			text, err := os.ReadFile(events)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n") // as if it had been killed at its start
			if c.start != nil {
				first = changed(t, first, c.start)
			}
			if err := os.WriteFile(events, []byte(first+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(p)
			}
			exit, err := p.run("--resume " + p.at("out") + c.resume)
			if exit != event.ExitUsage || err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("exit code %d, %v", exit, err)
			}
			if now, err := os.ReadFile(events); err != nil || string(now) != first+"\n" {
				t.Errorf("the events are now %s, %v", now, err)
			}
		})
	}
}

// changed changes the object run of an event.
func changed(t *testing.T, text string, change func(run map[string]any)) string {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	change(e["run"].(map[string]any))
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// A run that executes one job of a queue stores each of its events there, and prints what its worker prints.
func TestAJobOfAQueueStoresItsEvents(t *testing.T) {
	p := workIn(t, "m.yaml", strings.ReplaceAll(flagged, "FLAG", "a.txt"), "turns.yaml", writes)
	o := p.options("m.yaml --sandbox off --quiet")
	c, err := checks.Run(t.Context(), p.world, o)
	defer c.Settle()
	if err != nil {
		t.Fatal(err)
	}
	log, err := view.New(p.world.Err, o.Log, p.world.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	var mu sync.Mutex
	printed := event.Outcome("")
	err = Start(t.Context(), p.world, o, c, Starting{
		ID: "r1", Log: log,
		Claim: func() (*rundir.Dir, error) {
			return rundir.Claim(t.Context(), p.Root, p.at("out"), "r1", p.world.Clock())
		},
		Print: func(_ world.World, r *report.Report, _ string) { printed = r.Run.Outcome },
		Delivery: Delivery{Name: "d", Record: func(line []byte, _ bool) error {
			mu.Lock()
			defer mu.Unlock()
			stored.Write(line)
			return nil
		}},
	})
	text, readErr := os.ReadFile(p.at("out/events.jsonl"))
	if fault.ExitOf(err) != event.ExitOK || readErr != nil || printed != event.Passed || p.out.Len() > 0 {
		t.Errorf("%v, %v: printed %q, %s%s", err, readErr, printed, &p.out, &p.log)
	}
	if stored.String() != string(text) {
		t.Errorf("stored\n%s\nwant\n%s", &stored, text)
	}
}
