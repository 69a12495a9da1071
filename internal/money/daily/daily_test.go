package daily

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/money"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func reserved(t *testing.T, dir string, day time.Time, run string, limit, most money.USD) *Reservation {
	t.Helper()
	r, err := Reserve(t.Context(), dir, day, run, limit, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	return r
}

func TestRunsShareADay(t *testing.T) {
	dir := t.TempDir()
	first := reserved(t, dir, noon, "first", 10*money.Dollar, 4*money.Dollar)
	if first.Limit != 4*money.Dollar {
		t.Errorf("reserved $%v, want as much as was requested", first.Limit)
	}
	second := reserved(t, dir, noon, "second", 10*money.Dollar, 0)
	if second.Limit != 6*money.Dollar {
		t.Errorf("reserved $%v, want what the first left", second.Limit)
	}
	var exceeded *Exceeded
	if _, err := Reserve(t.Context(), dir, noon, "third", 10*money.Dollar, money.Dollar); !errors.As(err, &exceeded) || exceeded.Used != 10*money.Dollar {
		t.Fatalf("got %v, want an exceeded budget", err)
	}
	first.Record(money.Dollar / 2)
	second.Record(money.Dollar * 5 / 4)
	for _, r := range []*Reservation{first, second} {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := reserved(t, dir, noon, "fourth", 10*money.Dollar, 0); r.Limit != money.Dollar*33/4 {
		t.Errorf("reserved $%v, want what remains when runs have ended", r.Limit)
	}
	if r := reserved(t, dir, noon.Add(24*time.Hour), "first", 10*money.Dollar, 0); r.Limit != 10*money.Dollar {
		t.Errorf("reserved $%v on another day", r.Limit)
	}
}

// A child that a killed run has just started holds its lock for a moment.
func TestARunWaitsForTheOrphansOfOneThatWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for run, most := range []money.USD{0, 2 * money.Dollar} {
			killed := reserved(t, dir, noon, fmt.Sprint("killed", run), 3*money.Dollar, most)
			time.AfterFunc(100*time.Millisecond, func() { killed.file.Close() })
			next := reserved(t, dir, noon, fmt.Sprint("next", run), 3*money.Dollar, most)
			if want := cmp.Or(most, 3*money.Dollar); next.Limit != want {
				t.Errorf("reserved $%v, want $%v", next.Limit, want)
			}
			next.file.Close()
		}
	})
}

func TestAnInvalidRecordStopsRuns(t *testing.T) {
	dir := t.TempDir()
	if err := reserved(t, dir, noon, "first", 10*money.Dollar, 0).Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", strings.Repeat(" ", recordSize), fmt.Sprintf("%-*s", recordSize, `{"spent_usd": -5}`)} {
		file := filepath.Join(dir, "2026-11-22", "first.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Reserve(t.Context(), dir, noon, "second", 10*money.Dollar, 0); err == nil {
			t.Errorf("the record %q counts as a run that spent nothing", text)
		}
	}
}
