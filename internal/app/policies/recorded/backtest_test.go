package recorded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

// again compares recorded decisions with those of a profile.
func again(t *testing.T, profile string, job *jobUsage) *Result {
	t.Helper()
	t.Chdir(t.TempDir())
	w := world.World{Getenv: func(string) string { return "" }}
	j, done, err := policies.NewJudge(w)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	p, ok := permission.Preset(profile)
	if !ok {
		t.Fatalf("no preset %s", profile)
	}
	found := &usage{runs: map[string]bool{"r": true}, jobs: []*jobUsage{job}}
	b, err := newBacktest(w, j.Env, p, found)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.compare(t.Context(), found)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recordedCall(tool, input, effect, rule string) usedCall {
	return usedCall{Call: event.Call{ID: "1", Tool: tool, Decision: &event.Decision{Effect: effect, Rule: rule, Source: "m.yaml:1"}}, input: json.RawMessage(input)}
}

func TestADeniedCallThatCannotBeDecidedMayBeAllowed(t *testing.T) {
	for effect, want := range map[string]Verdict{"deny": MayBeAllowed, "allow": Undecided} {
		r := again(t, "full", &jobUsage{id: "a", calls: []usedCall{recordedCall("bash", `{"command": 7}`, effect, "x")}})
		if len(r.Differences) != 1 || r.Differences[0].Verdict != want || r.widens() != (want == MayBeAllowed) {
			t.Errorf("%s: %+v, want %q", effect, r.Differences, want)
		}
	}
	r := again(t, "readonly", &jobUsage{id: "a", calls: []usedCall{recordedCall("bash", `{"command": 7}`, "deny", "x")}})
	if len(r.Differences) != 0 {
		t.Errorf("a profile without bash decides whatever the arguments are, got %+v", r.Differences)
	}
}

// Tools that only some jobs have decide about what a call is about, and not about its tool alone.
func TestToolsThatOnlySomeJobsHaveAreDecidedAgain(t *testing.T) {
	for _, c := range []struct{ tool, input, subject string }{
		{"codesearch", `{"query": "maps"}`, "maps"},
		{"lsp", `{"operation": "documentSymbol", "filePath": "a", "line": 1, "character": 1}`, "a"},
		{"task", `{"subagent_type": "explore", "prompt": "Look.", "description": "look"}`, "explore"},
		{"websearch", `{"query": "go"}`, "go"},
	} {
		r := again(t, "full", &jobUsage{id: "a", calls: []usedCall{recordedCall(c.tool, c.input, "deny", "x")}})
		if len(r.Differences) != 1 || r.Differences[0].Verdict != NewlyAllowed || r.Differences[0].Calls[0].Subject != c.subject {
			t.Errorf("%s: %+v", c.tool, r.Differences)
		}
	}
	r := again(t, "full", &jobUsage{id: "a", calls: []usedCall{recordedCall("batch", `{"tool_calls": []}`, "deny", "x")}})
	if len(r.Differences) != 1 || r.Differences[0].Verdict != MayBeAllowed {
		t.Errorf("a batch without calls: %+v", r.Differences)
	}
}

// The private directories of a job had other names.
func TestCommandsInPrivateDirectoriesAreDecidedAgain(t *testing.T) {
	call := recordedCall("bash", `{"command": "cat $TMPDIR/a ~/b /tmp/c", "description": "read"}`, "allow", "x")
	if r := again(t, "build", &jobUsage{id: "a", level: string(sandbox.Full), calls: []usedCall{call}}); len(r.Differences) != 0 {
		t.Errorf("%+v", r.Differences)
	}
}

func TestHooksAndLimitsOfAgentsAreNotDecidedAgain(t *testing.T) {
	byAgent := recordedCall("bash", `{"command": "ls"}`, "deny", "bash: deny")
	byAgent.Decision.Source = "agent explore"
	r := again(t, "full", &jobUsage{id: "a", calls: []usedCall{byAgent, recordedCall("bash", `{"command": "ls"}`, "deny", "hook before_tool")}})
	if r.NotByRules != 2 || r.Decided != 0 || len(r.Differences) != 0 {
		t.Errorf("%+v", r)
	}
}

// The limits of an agent are those of its definition, or a policy's: the record does not have which.
func TestADenialByTheLimitsOfAnAgentMayBeAllowed(t *testing.T) {
	call := recordedCall("bash", `{"command": "ls"}`, "deny", "no rule allows it")
	call.session, call.Decision.Source = "a.task-1", "profile review"+permission.Limits+"build"
	started := recordedCall("task", `{"subagent_type": "explore", "prompt": "Look.", "description": "look"}`, "allow", "task: allow")
	started.Metadata = &event.CallMetadata{ChildSession: "a.task-1"}
	r := again(t, "build", &jobUsage{id: "a", calls: []usedCall{call, started}})
	if len(r.Differences) != 1 || r.Differences[0].Verdict != MayBeAllowed || !strings.Contains(r.Differences[0].Now, "agent explore") {
		t.Errorf("%+v", r.Differences)
	}
	call.Decision.Source = "m.yaml:1" // the limits may deny what the profile has denied
	if r = again(t, "build", &jobUsage{id: "a", calls: []usedCall{call, started}}); len(r.Differences) != 1 || r.Differences[0].Verdict != MayBeAllowed {
		t.Errorf("a denial by the profile: %+v", r.Differences)
	}
	call.session = "a"
	if r = again(t, "build", &jobUsage{id: "a", calls: []usedCall{call}}); len(r.Differences) != 1 || r.Differences[0].Verdict != NewlyAllowed {
		t.Errorf("a policy's limit of the job's own session: %+v", r.Differences)
	}
}

func TestConnectionsAreDecidedByTheNetworkOfAgentsOrSetup(t *testing.T) {
	job := &jobUsage{id: "a"}
	for _, n := range []event.Network{
		{Host: "example.com", Port: 443, Addr: "93.184.216.34"},
		{Host: "example.com", Port: 443, Denied: true, Error: "no network"},
		{Host: "proxy.golang.org", Port: 443, Addr: "142.250.1.1"},
		{Host: "gone.example.com", Port: 443, Error: "no such host"},
	} {
		job.network = append(job.network, connection{Network: n})
	}
	want := map[string]string{"full": "newly allowed", "build": "denied now"}
	for profile, verdict := range want {
		r := again(t, profile, job)
		if len(r.Differences) != 1 || string(r.Differences[0].Verdict) != verdict || r.Differences[0].Calls[0].Subject != "example.com:443" {
			t.Errorf("%s: %+v, want that example.com is %s", profile, r.Differences, verdict)
		}
	}
}

// What a job had lost is still lost, and a policy can take more.
func TestCallsAfterUntrustedContentAreDecidedWithWhatIsLeft(t *testing.T) {
	job := &jobUsage{id: "a", at: map[string]int{}}
	fetch := func(id, effect, rule string) {
		job.add(event.Event{Type: event.CallUpdated, Session: "r/a", Call: &event.Call{ID: id, Tool: "webfetch", Input: json.RawMessage(`{"url": "https://example.com/"}`), Decision: &event.Decision{Effect: effect, Rule: rule, Source: "m.yaml:1"}}})
	}
	connect := func(denied bool) {
		n := event.Network{Host: "example.com", Port: 443, Addr: "93.184.216.34", Denied: denied}
		if denied {
			n.Error = "the job has read untrusted content"
		}
		job.add(event.Event{Type: event.NetworkRequested, Network: &n})
	}
	connect(false)
	job.add(event.Event{Type: event.UntrustedRead, Session: "r/a", Untrusted: &event.Untrusted{Call: "2", Tool: "webfetch", Revoked: &event.Revoked{Network: true, Source: "m.yaml:7"}}})
	fetch("2", "allow", "webfetch: allow") // which has marked it
	fetch("3", "deny", `webfetch: {"*": deny}`)
	connect(true)
	if r := again(t, "full", job); len(r.Differences) != 0 || r.Decided != 4 {
		t.Errorf("the same rules: %+v", r)
	}
	fetch("4", "allow", "webfetch: allow")
	connect(false)
	r := again(t, "full", job)
	if len(r.Differences) != 2 || r.Differences[0].Verdict != DeniedNow || r.Differences[1].Verdict != DeniedNow || r.widens() {
		t.Errorf("what was allowed in spite of it: %+v", r.Differences)
	}
	job.marked.Untrusted.Revoked = nil // of an earlier release
	if r := again(t, "full", job); len(r.Differences) != 2 || r.Differences[0].Verdict != NewlyAllowed {
		t.Errorf("rights that are not recorded: %+v", r.Differences)
	}
}

// A call that has marked the job before it ran needs the rights that are left; one whose result has marked it had them all.
func TestTheCallThatMarksAJobIsDecidedAsItWouldBe(t *testing.T) {
	for state, want := range map[event.CallStatus]int{event.CallPending: 1, event.CallRunning: 0} {
		job := &jobUsage{id: "a", at: map[string]int{}}
		call := event.Call{ID: "1", Tool: "bash", Input: json.RawMessage(`{"command": "sh vendor/x.sh"}`), Status: state}
		job.add(event.Event{Type: event.CallUpdated, Session: "r/a", Call: new(call)})
		job.add(event.Event{Type: event.UntrustedRead, Session: "r/a", Untrusted: &event.Untrusted{Call: "1", Tool: "bash", Revoked: &event.Revoked{Bash: "none", Source: "m.yaml:7"}}})
		call.Status, call.Decision = event.CallCompleted, &event.Decision{Effect: "allow", Rule: "bash: allow", Source: "m.yaml:1"}
		job.add(event.Event{Type: event.CallUpdated, Session: "r/a", Call: new(call)})
		if r := again(t, "full", job); len(r.Differences) != want || want == 1 && r.Differences[0].Verdict != DeniedNow {
			t.Errorf("marked while it was %s: %+v", state, r.Differences)
		}
	}
}

func TestTheTextShowsFiveCallsOfADifference(t *testing.T) {
	job := &jobUsage{id: "a"}
	for range 7 {
		job.calls = append(job.calls, recordedCall("bash", `{"command": "echo \u001b[31m`+strings.Repeat("a", 500)+`"}`, "deny", "bash: deny"))
	}
	var out bytes.Buffer
	if err := again(t, "full", job).print(&out, false); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "    bash echo") != mostShown || !strings.Contains(text, "and 2 more") || strings.Contains(text, "\x1b") || out.Len() > 2000 {
		t.Errorf("%s", text)
	}
}

func TestPrivateDirectoriesOfAJobAreItsOwnWhenItsCallsAreDecidedAgain(t *testing.T) {
	for _, variable := range []string{"TMPDIR", "HOME"} {
		job := &jobUsage{id: "a", level: "A", calls: []usedCall{recordedCall("bash", `{"command": "cp a \"$`+variable+`/b\""}`, "allow", "bash: allow")}}
		if r := again(t, "full", job); len(r.Differences) != 0 {
			t.Errorf("%s: %+v", variable, r.Differences)
		}
	}
}

func TestABacktestThatIsInterruptedHasNoResult(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	signal := event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}
	stop(signal)
	if r, err := (&backtest{}).compare(ctx, &usage{jobs: []*jobUsage{{id: "a"}}}); r != nil || !errors.Is(err, signal) {
		t.Errorf("%+v, %v", r, err)
	}
	w, out := process(t)
	for name, o := range map[string]BacktestOptions{
		"a profile": {ProfileOptions: load.ProfileOptions{Profile: "none"}, Runs: []string{saved(t)}}, "a run": {Runs: []string{"none"}},
	} {
		if err := Backtest(t.Context(), w, o); fault.ExitOf(err) != event.ExitUsage || out.Len() > 0 {
			t.Errorf("%s that is missing: %v, %s", name, err, out)
		}
	}
}
