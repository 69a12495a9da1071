package pricetable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/prices"
)

func TestBuiltInPricesAreUsedWithoutValidOnesThatAreSaved(t *testing.T) {
	cache := t.TempDir()
	w := world.World{Getenv: func(name string) string { return map[string]string{"MILLHAND_CACHE_DIR": cache}[name] }}
	built := prices.BuiltIn().Date
	for _, text := range []string{"", "broken\n"} {
		if text != "" {
			if err := os.WriteFile(filepath.Join(cache, "prices.txt"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := Saved(w).Date; got != built {
			t.Errorf("with %q: prices of %s, want %s", text, got, built)
		}
	}
}

func TestPricesAreNotSavedInARepository(t *testing.T) {
	t.Chdir(t.TempDir())
	var log bytes.Buffer
	w := world.World{Getenv: func(string) string { return "" }, Err: &log, Now: time.Now}
	err := Refresh(t.Context(), w, "http://127.0.0.1:1", "")
	var f fault.Error
	if !errors.As(err, &f) || f.Kind != event.ExitUsage {
		t.Errorf("without a directory of the user: %v", err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := os.WriteFile("listed-prices.txt", []byte("models.dev 2099-01-01\nopenai/theirs 1 1 text 0,0,,,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if Saved(w).Latest() != prices.BuiltIn().Latest() {
		t.Error("the prices of a repository are used")
	}
}
