package commands

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/ecosystem/envfault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

func bash(t *testing.T, line string, limit time.Duration) Program {
	t.Helper()
	dir, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return Program{
		Args: []string{"bash", "-c", line}, Dir: t.TempDir(), Limit: limit, Outputs: dir, Now: time.Now,
		Box: &confinement.Confinement{Env: []string{"PATH=" + os.Getenv("PATH")}},
	}
}

func TestTheResultOfAProgram(t *testing.T) {
	for line, want := range map[string]struct {
		passed bool
		code   int
		tail   string
	}{
		"echo fine":            {true, 0, "fine"},
		"echo broken; exit 3":  {false, 3, "broken"},
		"echo slow; sleep 100": {false, -1, "(command timed out after 1s)"},
	} {
		limit := time.Minute
		if strings.Contains(line, "sleep") {
			limit = time.Second
		}
		v, err := bash(t, line, limit).Run(t.Context())
		if err != nil || v.Passed != want.passed || v.ExitCode != want.code || !strings.Contains(v.Tail, want.tail) {
			t.Errorf("%s: %v, %+v", line, err, v)
		}
	}
}

// One that can't be started has failed, and is no error of the machine.
func TestAProgramThatDoesNotExistFails(t *testing.T) {
	p := bash(t, "", time.Minute)
	p.Args = []string{"/no/such/program"}
	if v, err := p.Run(t.Context()); err != nil || v.Passed || v.ExitCode != -1 || !strings.Contains(v.Tail, "/no/such/program") {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestABaselineDecidesWhetherAJobStarts(t *testing.T) {
	good, bad := event.Baseline{Name: "test", Passed: true}, event.Baseline{Name: "test", ExitCode: 1}
	slow, fault := bad, bad
	slow.ExitCode, slow.TimeoutMS = -1, 1000
	fault.Fault = &event.Fault{Kind: "network", Evidence: "no host", Fix: "allow it"}
	for name, c := range map[string]struct {
		want    tasks.Baseline
		results []event.Baseline
		code    event.Code
	}{
		"passes":                      {tasks.BaselineRun, []event.Baseline{good}, ""},
		"fails":                       {tasks.BaselineRun, []event.Baseline{bad}, ""},
		"must fail, and does":         {tasks.BaselineMustFail, []event.Baseline{good, bad}, ""},
		"must fail, and passes":       {tasks.BaselineMustFail, []event.Baseline{good}, event.CodeBaseline},
		"must pass, and fails":        {tasks.BaselineMustPass, []event.Baseline{good, bad}, event.CodeBaseline},
		"too slow":                    {tasks.BaselineRun, []event.Baseline{slow}, event.CodeEnvironment},
		"must fail by a time limit":   {tasks.BaselineMustFail, []event.Baseline{slow}, ""},
		"the environment, must fail":  {tasks.BaselineMustFail, []event.Baseline{fault}, event.CodeEnvironment},
		"no command, must pass":       {tasks.BaselineMustPass, nil, ""},
		"no command, but it must run": {tasks.BaselineRun, nil, ""},
	} {
		end := Judge(c.want, c.results)
		if end == nil && c.code != "" || end != nil && end.Code != c.code {
			t.Errorf("%s: %+v, want %q", name, end, c.code)
		}
	}
}

func TestTheReasonOfAFailure(t *testing.T) {
	for want, v := range map[string]Ran{
		"":                               {},
		": FAIL TestA":                   {Line: "FAIL TestA"},
		": FAIL TestA; denied: /x":       {Line: "FAIL TestA", denied: "denied: /x\nmore"},
		": denied: /x":                   {denied: "denied: /x"},
		": timed out after 2s":           {Line: "FAIL TestA", Verify: event.Verify{ExitCode: -1, TimeoutMS: 2000}},
		": exit of denied: /x was known": {Line: "exit of denied: /x was known", denied: "denied: /x"},
	} {
		if got := Why([]Ran{v}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := ExitText(event.Verify{ExitCode: -1}); got != "killed" {
		t.Errorf("got %q", got)
	}
	if got := Names([]Ran{{Verify: event.Verify{Name: "a"}}, {Verify: event.Verify{Name: "b"}}}); got != "a, b" {
		t.Errorf("got %q", got)
	}
}

func TestAFaultOfTheEnvironmentNamesItsFix(t *testing.T) {
	v := Ran{Verify: event.Verify{ExitCode: 127}, Output: "bash: line 1: cargo: command not found\n"}
	f := FaultOf("cargo test", v)
	if f == nil || f.Kind == string(envfault.Network) || f.Fix == "" {
		t.Fatalf("%+v", f)
	}
	if text := SetupFault("cargo test", v); !strings.Contains(text, f.Evidence) || !strings.Contains(text, f.Fix) {
		t.Error(text)
	}
	if v.Passed = true; FaultOf("cargo test", v) != nil || SetupFault("cargo test", v) != "" {
		t.Error("a command that passed has a fault")
	}
}
