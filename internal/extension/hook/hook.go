package hook

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// denies is the exit code by which a before_tool hook denies a call. Any other failure denies
// it, too, but counts as an error of the hook.
const denies = 2

// Limits in bytes.
const (
	maxOutput = 64 << 10 // standard output, for the model
	maxReason = 2000     // standard error, in reasons and reports
)

// Config is the input of New.
type Config struct {
	Hooks []tasks.Hook
	// Launch prepares what a hook needs, which its owner releases after Close, and returns its command. It is called before the
	// first run of a hook.
	Launch  func(context.Context, tasks.Hook) (proc.Command, error)
	Input   Input // what the input of all hooks has
	Sandbox string
	Redact  *redact.Redactor
	Emit    func(event.Extension) // this and the following are called by several goroutines
	Warn    func(text string)
	Stop    func(reason string) // ends the job, because of a hook around a call
}

// Set are the hooks of a run, a job or a call. Its methods may be called concurrently, also
// on nil, which has none.
type Set struct{ hooks []*hook }

// New returns the hooks. It starts nothing; the caller closes the set.
func New(c Config) *Set {
	if len(c.Hooks) == 0 {
		return nil
	}
	s := &Set{}
	for _, spec := range c.Hooks {
		s.hooks = append(s.hooks, &hook{config: &c, spec: spec, state: event.Extension{Kind: "hook", Name: spec.Name, Status: event.ExtensionNotNeeded}})
	}
	return s
}

// on returns the hooks of an event.
func (s *Set) on(on tasks.HookEvent) (all []*hook) {
	if s == nil {
		return nil
	}
	for _, h := range s.hooks {
		if h.spec.On == on {
			all = append(all, h)
		}
	}
	return all
}

// Has reports whether an event has hooks.
func (s *Set) Has(on tasks.HookEvent) bool { return len(s.on(on)) > 0 }

// Run runs the hooks of an event in order. It returns the first failure of one that is not
// optional; hooks at the end of something are all run, and their failures are warnings. Without a
// failure of a hook, the error is the cause of ctx.
func (s *Set) Run(ctx context.Context, on tasks.HookEvent, in func(*Input)) error {
	for _, h := range s.on(on) {
		input := h.config.Input
		in(&input)
		_, f := h.run(ctx, input)
		switch {
		case f == nil:
		case on == tasks.JobEnd || on == tasks.RunEnd || h.spec.Optional && ctx.Err() == nil:
			h.config.Warn(f.Error())
		case ctx.Err() != nil:
			return context.Cause(ctx) //nolint:wrapcheck // the cause is the reason
		default:
			h.fail(f)
			return f
		}
	}
	return nil
}

// Close reports the totals. No hook runs any more.
func (s *Set) Close() {
	if s == nil {
		return
	}
	for _, h := range s.hooks {
		h.emit()
	}
	s.hooks = nil
}

// hook is one hook.
type hook struct {
	config *Config
	spec   tasks.Hook

	launch  sync.Once
	command proc.Command
	broken  error // of the launch

	mu    sync.Mutex
	state event.Extension
	stuck int // runs that did not start or timed out
}

// failure is a run of a hook that failed. Its text is for users and models.
type failure struct {
	hook   string
	code   int    // exit code; -1 without one
	stuck  bool   // it did not start, or timed out
	how    string // "exit code 1" for example
	err    error  // why it did not start; nil otherwise
	stderr string // its end
}

// Unwrap returns why the hook did not start.
func (f *failure) Unwrap() error { return f.err }

// because sets why the hook did not start.
func (f *failure) because(err error) *failure {
	f.how, f.err = err.Error(), err
	return f
}

func (f *failure) Error() string {
	text := fmt.Sprintf("hook %s: %s", f.hook, f.how)
	if f.stderr != "" {
		text += ": " + f.stderr
	}
	return text
}

// run runs the hook and returns its standard output.
func (h *hook) run(ctx context.Context, in Input) (output string, failed *failure) {
	in.Version, in.Event = 1, h.spec.On
	defer func() { h.count(failed) }()
	failed = &failure{hook: h.spec.Name, code: -1, stuck: true}
	text, err := encode(in)
	if err != nil {
		failed.how = err.Error()
		return "", failed
	}
	h.launch.Do(func() { h.command, h.broken = h.config.Launch(ctx, h.spec) })
	if h.broken != nil {
		return "", failed.because(h.broken)
	}
	within, cancel := context.WithTimeout(ctx, h.spec.Time)
	defer cancel()
	service, err := proc.StartService(within, h.command)
	if err != nil {
		return "", failed.because(err)
	}
	out, res, err := service.Exchange(h.config.Redact.HeldJSON(text), maxOutput)
	failed.stderr = h.text(service.Stderr())
	if res.Note != "" {
		failed.stderr = strings.TrimSpace(failed.stderr + "\n" + h.text([]byte(res.Note)))
	}
	switch {
	case within.Err() != nil && ctx.Err() == nil:
		failed.how = fmt.Sprintf("timed out after %s", h.spec.Time)
	case err != nil:
		failed.how, failed.err = err.Error(), err
	case res.Signal != 0:
		failed.stuck, failed.how = false, fmt.Sprintf("killed by signal (%s)", res.Signal)
	case res.ExitCode != 0:
		failed.stuck, failed.code, failed.how = false, res.ExitCode, fmt.Sprintf("exit code %d", res.ExitCode)
	default:
		return strings.ToValidUTF8(string(out), "\uFFFD"), nil
	}
	return "", failed
}

// text returns the end of a hook's output, without secrets.
func (h *hook) text(data []byte) string {
	text := strings.TrimSpace(terminal.Text(strings.ToValidUTF8(string(data), "\uFFFD")))
	return textcut.Ends(h.config.Redact.Text(text), 0, maxReason, "...")
}

// count adds a run to the totals. A denial is not an error of the hook.
func (h *hook) count(f *failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.Sandbox = h.config.Sandbox; h.state.Status != event.ExtensionFailed {
		h.state.Status = event.ExtensionReady
	}
	h.state.Calls++
	if f != nil && !h.denied(f) {
		h.state.Errors++
		h.state.StderrTail = f.stderr
	}
	if f != nil && f.stuck {
		h.stuck++
	}
}

// denied reports whether a failure is the denial of a call.
func (h *hook) denied(f *failure) bool { return h.spec.On == tasks.BeforeTool && f.code == denies }

// fail records a failure that ends the job.
func (h *hook) fail(f *failure) {
	h.mu.Lock()
	h.state.Status, h.state.Error = event.ExtensionFailed, f.Error()
	h.mu.Unlock()
	h.emit()
}

// emit reports the state.
func (h *hook) emit() {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	h.config.Emit(state)
}
