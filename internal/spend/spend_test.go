package spend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/money"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string, day time.Time, run string, limit, most money.USD) (*Account, money.USD) {
	t.Helper()
	a, granted, err := Open(t.Context(), dir, day, run, limit, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.file.Close() })
	return a, granted
}

func TestRunsShareADay(t *testing.T) {
	dir := t.TempDir()
	first, granted := open(t, dir, noon, "first", 10*money.Dollar, 4*money.Dollar)
	if granted != 4*money.Dollar {
		t.Errorf("granted $%v, want what the run asked for", granted)
	}
	second, granted := open(t, dir, noon, "second", 10*money.Dollar, 0)
	if granted != 6*money.Dollar {
		t.Errorf("granted $%v, want what the first left", granted)
	}
	var spent *Spent
	if _, _, err := Open(t.Context(), dir, noon, "third", 10*money.Dollar, money.Dollar); !errors.As(err, &spent) || spent.Used != 10*money.Dollar {
		t.Fatalf("got %v, want a day that is spent", err)
	}
	first.Set(money.Dollar / 2)
	second.Set(money.Dollar * 5 / 4)
	for _, a := range []*Account{first, second} {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, granted = open(t, dir, noon, "fourth", 10*money.Dollar, 0); granted != money.Dollar*33/4 {
		t.Errorf("granted $%v, want what is left when runs have ended", granted)
	}
	if _, granted = open(t, dir, noon.Add(24*time.Hour), "first", 10*money.Dollar, 0); granted != 10*money.Dollar {
		t.Errorf("granted $%v on another day", granted)
	}
}

func TestAnAccountThatCannotBeReadStopsRuns(t *testing.T) {
	dir := t.TempDir()
	a, _ := open(t, dir, noon, "first", 10*money.Dollar, 0)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", strings.Repeat(" ", rowSize), fmt.Sprintf("%-*s", rowSize, `{"spent_usd": -5}`)} {
		file := filepath.Join(dir, "2026-11-22", "first.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(t.Context(), dir, noon, "second", 10*money.Dollar, 0); err == nil {
			t.Errorf("an account of %q is taken for one that spent nothing", text)
		}
	}
}
