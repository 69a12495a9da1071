package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/report"
)

// The reports of a copied log are made elsewhere.
func TestACopiedRunWritesNoReports(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, copied := range []bool{false, true} {
		dir, lines := filepath.Join(t.TempDir(), "r"), 0
		d, err := Claim(t.Context(), "", dir, "20260102-030405-1a2b3c4d", at(time.Now))
		if err != nil {
			t.Fatal(err)
		}
		if copied {
			d.CopyEvents(func([]byte, bool) error { lines++; return nil })
		}
		if err := d.Begin("20260102-030405-1a2b3c4d", sandbox.None, nil, 1); err != nil {
			t.Fatal(err)
		}
		log, fold := d.Log(), &report.Fold{}
		stream := event.NewStream(time.Now, log, fold)
		stream.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r"}})
		stream.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}})
		if err := d.Finish(t.Context(), stream.Emit, log, fold, stream.Err); err != nil {
			t.Fatal(err)
		}
		d.Close()
		_, err = os.Stat(filepath.Join(dir, "report.json"))
		if errors.Is(err, fs.ErrNotExist) != copied || (lines == 2) != copied {
			t.Errorf("copied %t: %d lines, report.json: %v", copied, lines, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "events.jsonl")); err != nil {
			t.Error(err)
		}
	}
}

// A copy of the log elsewhere has the start of a turn before its request costs money.
func TestStartsOfTurnsAreCopiedDurably(t *testing.T) {
	var copied []bool
	log := &EventLog{copy: func(_ []byte, durable bool) error { copied = append(copied, durable); return errors.New("not stored") }}
	for _, kind := range []event.Type{event.RunStarted, event.TurnStarted, event.TurnEnded, event.JobEnded} {
		log.Emit(event.Event{Type: kind})
	}
	if want := []bool{false, true, false, true}; !slices.Equal(copied, want) {
		t.Errorf("durable: %t, want %t", copied, want)
	}
}
