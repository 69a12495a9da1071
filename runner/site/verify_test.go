package site

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

func TestCommandsOfTheManifestsAuthor(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	for line, want := range map[string]event.Verify{
		"pwd":                                  {Passed: true, Tail: p.Space.Dir() + "\n"},
		"echo out; echo err >&2; exit 3":       {ExitCode: 3, Tail: "out\nerr\n"},
		"echo held-by-millhand-1234":           {Passed: true, Tail: redact.Mark + "\n"},
		`printf '\377'`:                        {Passed: true, Tail: "\uFFFD"},
		"trap 'exit 0' TERM; sleep 100 & wait": {ExitCode: -1, Tail: "(command timed out after 100ms)", TimeoutMS: 100},
		"kill -9 $$":                           {ExitCode: -1},
		"echo begun; exec sleep 100":           {ExitCode: -1, Tail: "begun\n(command timed out after 100ms)", TimeoutMS: 100},
		"seq 20000":                            {Passed: true, Tail: "20000\n"},
	} {
		limit := time.Minute
		if strings.Contains(line, "sleep") {
			limit = 100 * time.Millisecond
		}
		got, err := p.command(t.Context(), p.Sandboxes.Own, line, limit)
		got.ElapsedMS = 0
		if omitted, tail, ok := strings.Cut(got.Tail, " lines omitted)\n"); ok && strings.HasPrefix(omitted, "... (") && len(got.Tail) <= commands.ExcerptBytes {
			got.Tail = tail[len(tail)-len(want.Tail):]
		}
		if diff := cmp.Diff(want, got.Verify); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
	p.Sandboxes.Own.Env = []string{"PATH=/nowhere"}
	if got, err := p.command(t.Context(), p.Sandboxes.Own, "true", time.Minute); err != nil || got.Passed || got.ExitCode != -1 || got.Tail == "" {
		t.Errorf("a command that can't be started: %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ending.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if _, err := p.command(ctx, p.Sandboxes.Own, "true", time.Minute); err == nil {
		t.Error("it runs after a signal")
	}
}

func TestSetupStopsAtFirstFailure(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	if end := (Setup{Site: p}).Run(t.Context()); end != nil {
		t.Errorf("none at all: %+v", end)
	}
	j.Spec.Setup = []string{"echo 1 >> ran", "echo broken; exit 2", "echo 3 >> ran"}
	end := Setup{Site: p}.Run(t.Context())
	if end == nil || *end != (ending.Stop{Code: event.CodeFailed, Detail: "setup command \"echo broken; exit 2\" failed (exit code 2):\nbroken\n"}) {
		t.Errorf("%+v", end)
	}
	j.Spec.Setup = []string{"grep -q 3 ran"}
	if end := (Setup{Site: p}).Run(t.Context()); end == nil || end.Detail != "setup command \"grep -q 3 ran\" failed (exit code 1)" {
		t.Errorf("one after it ran: %+v", end)
	}
	j.Spec.Setup, j.TimeLimit.limit = []string{"sleep 100"}, time.Minute
	j.TimeLimit.started = j.opts.Now().Add(-time.Minute)
	if end := (Setup{Site: p}).Run(t.Context()); end == nil || end.Code != event.CodeLimit {
		t.Errorf("without time: %+v", end)
	}
	j.TimeLimit.started = j.opts.Now().Add(100*time.Millisecond - time.Minute)
	if end := (Setup{Site: p}).Run(t.Context()); end == nil || *end != (ending.Stop{Code: event.CodeLimit, Detail: `setup command "sleep 100": job timed out after 1m0s`}) {
		t.Errorf("with too little time: %+v", end)
	}
}
