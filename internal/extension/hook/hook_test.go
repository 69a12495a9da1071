package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

// bench runs hooks without a sandbox, and records what they report.
type bench struct {
	*Set
	mu                        sync.Mutex
	warned, stopped, launched []string
	states                    map[string]event.Extension
}

func newBench(t *testing.T, hooks ...tasks.Hook) *bench {
	t.Helper()
	b := &bench{states: map[string]event.Extension{}}
	dir := t.TempDir()
	add := func(list *[]string, text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		*list = append(*list, text)
	}
	for i, h := range hooks {
		if h.Name == "" {
			hooks[i].Name = string(h.On)
		}
		if h.Time == 0 {
			hooks[i].Time = 5 * time.Minute
		}
	}
	b.Set = New(Config{
		Hooks: hooks, Input: Input{Run: "r", Job: "j", Dir: dir}, Sandbox: "A", Redact: redact.New([]string{"secret-4711-4711"}),
		Launch: func(_ context.Context, h tasks.Hook) (proc.Command, error) {
			switch h.Command[0] {
			case "broken":
				return proc.Command{}, errors.New("create the sandbox: not today")
			case "refused":
				return proc.Command{}, &proc.MachineError{Err: syscall.EAGAIN}
			}
			add(&b.launched, h.Name)
			return proc.Command{Args: h.Command, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: time.Millisecond}, nil
		},
		Emit: func(e event.Extension) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.states[e.Name] = e
		},
		Warn: func(text string) { add(&b.warned, text) },
		Stop: func(reason string) { add(&b.stopped, reason) },
	})
	return b
}

func shell(on tasks.HookEvent, line string) tasks.Hook {
	return tasks.Hook{On: on, Command: []string{"bash", "-c", line}}
}

func TestRunInOrder(t *testing.T) {
	named := func(name string, h tasks.Hook) tasks.Hook {
		h.Name = name
		return h
	}
	for name, c := range map[string]struct {
		on     tasks.HookEvent
		log    string
		err    string
		warned []string
	}{
		"start":  {tasks.JobStart, "12", "hook 2: exit code 1", nil},
		"commit": {tasks.BeforeCommit, "12", "hook 2: exit code 1", nil},
		"end":    {tasks.JobEnd, "123", "<nil>", []string{"hook 2: exit code 1"}},
	} {
		b := newBench(t, named("1", shell(c.on, "printf 1 >>log")), named("other", shell(tasks.RunStart, "printf x >>log")), named("2", shell(c.on, "printf 2 >>log; exit 1")), named("3", shell(c.on, "printf 3 >>log")))
		dir := ""
		err := b.Run(t.Context(), c.on, func(in *Input) { dir = in.Dir })
		log, _ := os.ReadFile(dir + "/log")
		if fmt.Sprint(err) != c.err || string(log) != c.log || !cmp.Equal(b.warned, c.warned) {
			t.Errorf("%s: error %v, ran %s, warned %q", name, err, log, b.warned)
		}
		if b.Close(); len(b.launched) != len(c.log) || len(b.states) != 4 {
			t.Errorf("%s: launched %q, reported %d", name, b.launched, len(b.states))
		}
	}
}

// The caller sees that the machine refused to start a hook.
func TestRefusedByTheMachine(t *testing.T) {
	b := newBench(t, tasks.Hook{On: tasks.JobStart, Command: []string{"refused"}})
	if err := b.Run(t.Context(), tasks.JobStart, func(*Input) {}); !proc.IsMachine(err) || !strings.HasPrefix(err.Error(), "hook job_start: resource temporarily unavailable: the machine refused it: raise the limit on processes") {
		t.Error(err)
	}
}

// What a model wrote as arguments never breaks the input.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":`, "\xff", `"\ud800"`, `[[[`, "{}{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		out := arguments(json.RawMessage(input))
		text, err := encode(Input{Args: out})
		if err != nil || !json.Valid(text) || strings.Contains(string(text), "\n") {
			t.Errorf("%q: %s, %v", input, text, err)
		}
	})
}
