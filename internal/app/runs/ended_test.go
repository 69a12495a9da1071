package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// A signal or a limit before the first job leaves no report of a run, and the exit code is that of its cause.
func TestARunThatEndsBeforeItsFirstJobIsNotRun(t *testing.T) {
	p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
	exit, err := p.run("m.yaml --report-dir out --max-time 1ns")
	if exit != event.ExitDeadline || !strings.Contains(fmt.Sprint(err), "nothing was run") {
		t.Errorf("a limit: exit code %d, %v", exit, err)
	}
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(event.Interrupt{Exit: event.ExitTerminate})
	if err := Run(interrupted, p.world, p.options("m.yaml --report-dir out --sandbox off")); fault.ExitOf(err) != event.ExitTerminate {
		t.Errorf("a signal: %v", err)
	}
	if _, err := os.Stat(p.at("out/report.json")); err == nil {
		t.Error("a run that did not start has a report")
	}
	if branches := p.Run("branch", "--list", "millhand/*"); branches != "" {
		t.Errorf("branches %s", branches)
	}
	if exit, err := p.run("m.yaml --report-dir out"); exit != event.ExitOK {
		t.Errorf("the same directory, later: %v: %s%s", err, &p.out, &p.log)
	}
}

// A kill while an event was written leaves its first bytes, which is removed when the run is continued.
func TestAnEventThatIsIncompleteIsRemoved(t *testing.T) {
	p, flag := failed(t)
	events := p.at("out/events.jsonl")
	f, err := os.OpenFile(events, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":999,"ty`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exit, err := p.run("--resume " + p.at("out") + " --only-failed")
	if exit != event.ExitOK || !strings.Contains(p.log.String(), "is incomplete (14 bytes) and was removed") {
		t.Errorf("%v: %s%s", err, &p.out, &p.log)
	}
	if text, err := os.ReadFile(events); err != nil || strings.Contains(string(text), `"seq":999,"ty`) {
		t.Errorf("the events still have it (%v)", err)
	}
}

func TestADirectoryWithoutARunIsNotResumed(t *testing.T) {
	p := workIn(t, "m.yaml", twoJobs, "turns.yaml", writes)
	for name, text := range map[string]string{"empty": "", "garbage": "garbage\n"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.run("--resume " + dir); exit != event.ExitUsage {
			t.Errorf("%s: exit code %d, %v", name, exit, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, "events.jsonl")); err != nil || string(after) != text {
			t.Errorf("%s: the events are %q (%v)", name, after, err)
		}
	}
}
