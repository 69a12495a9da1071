package compared

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

func TestPatternsNameTheirRun(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "report", "testdata", "passed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := world.World{Out: &out, Err: &out, Getenv: func(string) string { return "" }}
	if err := Print(t.Context(), w, shown.ReportOptions{Run: t.TempDir()}); fault.ExitOf(err) != event.ExitUsage || out.Len() > 0 {
		t.Errorf("no run: %v: %s", err, &out)
	}
	if err := Print(t.Context(), w, shown.ReportOptions{Run: dir, JSON: true}); err != nil {
		t.Fatal(err)
	}
	run, err := savedrun.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Run string }
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil || doc.Run != run.Report.Run.ID {
		t.Errorf("%v: %s", err, &out)
	}
}
