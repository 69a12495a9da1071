package recorded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
)

// call is the last state of a call of a job in the directory /w/a.
func call(job, id, tool, input string, status event.CallStatus, rule string) event.Event {
	effect := "allow"
	if status == event.CallDenied {
		effect = "deny"
	}
	return event.Event{Type: event.CallUpdated, Job: job, Session: "r/" + job, Call: &event.Call{
		ID: id, Turn: 1, Tool: tool, Input: json.RawMessage(input), Status: status, Decision: &event.Decision{Effect: effect, Rule: rule, Source: "m.yaml:7"},
	}}
}

func connects(job, host string, port int, refusal string, denied bool) event.Event {
	return event.Event{Type: event.NetworkRequested, Job: job, Network: &event.Network{Host: host, Port: port, Addr: "93.184.216.34", Error: refusal, Denied: denied}}
}

// saved writes a run of the jobs a, which passed, and b, which failed, and returns its directory.
func saved(t *testing.T) string {
	t.Helper()
	start := func(job string) event.Event {
		return event.Event{Type: event.JobStarted, Job: job, JobStart: &event.JobStart{Workspace: "/w/" + job, Sandbox: event.Sandbox{Level: "A"}}}
	}
	running := call("a", "1", "read", `{"filePath": "/w/a/src/x.go"}`, event.CallRunning, "read: allow")
	text := reporttest.Lines(t,
		reporttest.Planned("a", "b"), start("a"), running,
		call("a", "1", "read", `{"filePath": "/w/a/src/x.go"}`, event.CallCompleted, "read: allow"),
		call("a", "2", "Bash", `{"command": "go vet ./..."}`, event.CallCompleted, "bash: allow"),
		call("a", "3", "webfetch", `{"url": "https://docs.example.com:8443/a"}`, event.CallCompleted, "webfetch: allow"),
		call("a", "4", "edit", `{"filePath": "/w/a/.env", "oldString": "a", "newString": "b"}`, event.CallDenied, `edit: {".env": deny}`),
		call("a", "5", "bash", `{"command": "git push"}`, event.CallDenied, "hook before_tool"),
		call("a", "6", "bash", `{"command": "make"}`, event.CallError, "bash: allow"),
		connects("a", "proxy.example.com", 443, "", false), connects("a", "proxy.example.com", 443, "", false), connects("a", "other.example.com", 8080, "", false),
		connects("a", "gone.example.com", 443, "no such host", false), connects("a", "evil.example.com", 443, "not in network", true),
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}), start("b"),
		call("b", "1", "bash", `{"command": "npm test"}`, event.CallCompleted, "bash: allow"), connects("b", "npm.example.com", 443, "", false),
		reporttest.JobEnded("b", event.JobEnd{Outcome: event.Failed, ExitCode: event.ExitFailed}), reporttest.RunEnded(event.Failed, event.ExitFailed))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func process(t *testing.T) (world.World, *strings.Builder) {
	t.Helper()
	out := &strings.Builder{}
	return world.World{Dir: t.TempDir(), Out: out, Err: t.Output(), Now: time.Now, Getenv: func(string) string { return "" }}, out
}

func TestASuggestionAllowsWhatJobsThatPassedUsed(t *testing.T) {
	t.Parallel()
	run := saved(t)
	w, out := process(t)
	if err := Suggest(w, Options{Runs: []string{run, run}}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"1 run: 1 job that passed, 3 calls", "extends: readonly", `"go vet *": allow`, "docs.example.com:8443", "proxy.example.com", "other.example.com:8080", ".env", "evil.example.com"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, other := range []string{"npm", "gone.example.com", "git push", "make", "proxy.example.com:443", "/w/a"} {
		if strings.Contains(text, other) {
			t.Errorf("%q in\n%s", other, text)
		}
	}
	out.Reset()
	if err := Suggest(w, Options{Runs: []string{run}, All: true}); err != nil || !strings.Contains(out.String(), "1 run: 2 jobs of any outcome, 4 calls") || !strings.Contains(out.String(), "npm.example.com") {
		t.Errorf("of all jobs: %v\n%s", err, out)
	}
}

func TestASuggestionNeedsAJobThatPassed(t *testing.T) {
	t.Parallel()
	w, out := process(t)
	failed := t.TempDir()
	lines := reporttest.Lines(t, reporttest.Planned("a"), reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed}))
	if err := os.WriteFile(filepath.Join(failed, "events.jsonl"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Suggest(w, Options{Runs: []string{failed}}); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "--all includes the others") || out.Len() > 0 {
		t.Errorf("%v, %s", err, out)
	}
	if err := Suggest(w, Options{Runs: []string{filepath.Join(failed, "none")}}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a run that is missing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(failed, "events.jsonl"), []byte("x\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Suggest(w, Options{Runs: []string{failed}, All: true}); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "events.jsonl: ") {
		t.Errorf("events that can't be read: %v", err)
	}
}

func TestOnlyABacktestThatAllowsMoreFails(t *testing.T) {
	t.Parallel()
	run := saved(t)
	for name, c := range map[string]struct {
		profile, policy string
		accept          bool
		exit            event.Exit
		want            []string
	}{
		"a wider profile": {"full", "", false, event.ExitFailed, []string{
			"1 run, 2 jobs: 12 calls decided again by profile full\n1 call denied by hooks and agents", "newly allowed: 1 call\n  now: edit", `was: edit: {".env": deny} (m.yaml:7)`, "edit .env  (job a)",
			"network evil.example.com:443  (job a)",
		}},
		"which is accepted":  {"full", "", true, event.ExitOK, []string{"newly allowed"}},
		"a narrower profile": {"readonly", "", false, event.ExitOK, []string{"denied now: ", "Bash go vet ./...  (job a)", "bash npm test  (job b)"}},
		"a policy":           {"full", "version: 1\nmax_profile: readonly\n", true, event.ExitOK, []string{"denied now: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, out := process(t)
			o := BacktestOptions{Runs: []string{run}, Accept: c.accept}
			o.Profile = c.profile
			if c.policy != "" {
				o.Policies = []string{filepath.Join(w.Dir, "p.yaml")}
				if err := os.WriteFile(o.Policies[0], []byte(c.policy), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Backtest(t.Context(), w, o); fault.ExitOf(err) != c.exit {
				t.Errorf("exit code %d, %v", fault.ExitOf(err), err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestABacktestAsJSONNamesEachCall(t *testing.T) {
	t.Parallel()
	run := saved(t)
	w, out := process(t)
	o := BacktestOptions{Runs: []string{run}, JSON: true, Accept: true}
	o.Profile = "full"
	if err := Backtest(t.Context(), w, o); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err)
	}
	if r.Profile != "full" || r.Runs != 1 || r.Jobs != 2 || r.NotByRules != 1 || len(r.Differences) != 2 {
		t.Fatalf("%+v", r)
	}
	want := Made{Run: filepath.Join(run, "events.jsonl"), Job: "a", Session: "r/a", ID: "4", Tool: "edit", Subject: ".env"}
	found := false
	for _, d := range r.Differences {
		found = found || len(d.Calls) == 1 && d.Calls[0] == want && d.Verdict == NewlyAllowed
	}
	if !found {
		t.Errorf("no call %+v in %+v", want, r.Differences)
	}
}

func TestDifferencesAreOrderedByTheirVerdictAndNumber(t *testing.T) {
	job := &jobUsage{id: "a"}
	for i := range 3 {
		job.calls = append(job.calls, recordedCall("bash", fmt.Sprintf(`{"command": "ls %d"}`, i), "deny", "bash: deny"))
	}
	job.calls = append(job.calls, recordedCall("read", `{"filePath": "x"}`, "deny", "read: deny"), recordedCall("bash", `{"command": 7}`, "deny", "bash: deny"), recordedCall("bash", `{"command": 7}`, "allow", "bash: allow"))
	r := again(t, "full", job)
	var got []string
	for _, d := range r.Differences {
		got = append(got, fmt.Sprintf("%s %d", d.Verdict, len(d.Calls)))
	}
	if want := "newly allowed 3, newly allowed 1, denied, and can't be decided again 1, allowed, and can't be decided again 1"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	var out strings.Builder
	if err := again(t, "full", &jobUsage{id: "a"}).print(&out, false); err != nil || !strings.Contains(out.String(), "\nno difference\n") {
		t.Errorf("%v, %s", err, &out)
	}
}
