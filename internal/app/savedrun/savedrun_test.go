package savedrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
)

// save writes the events of a run with one job to a report directory.
func save(t *testing.T, dir string, more ...event.Event) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stream := event.NewStream(time.Now, event.JSONL(f))
	stream.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r1", Jobs: []event.PlannedJob{{ID: "j"}}}})
	for _, e := range more {
		stream.Emit(e)
	}
}

func kind(err error) event.Exit {
	var f fault.Error
	if !errors.As(err, &f) {
		return -1
	}
	return f.Kind
}

func TestARunIsNamedByItsDirectoryAFileInItOrItsID(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join(".millhand", "runs", "r1")
	save(t, dir)
	want, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r1", dir, filepath.Join(dir, "events.jsonl")} {
		if got, err := Find(name); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if r, err := Load(name); err != nil || r.Dir != want || r.Report.Run.ID != "r1" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if past, at, err := Past(name); err != nil || at != want || past.Run.ID != "r1" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"r2", ".", ""} {
		_, loaded := Load(name)
		_, _, past := Past(name)
		if kind(loaded) != event.ExitUsage || kind(past) != event.ExitUsage {
			t.Errorf("%q: %v, %v", name, loaded, past)
		}
	}
}

func TestARunWithoutValidEventsIsRefused(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "garbage": "garbage\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Past(dir); kind(err) != event.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASessionThatWasNotSavedDoesNotExist(t *testing.T) {
	dir := t.TempDir()
	save(t, dir)
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Session(report.Session{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestEvidenceOfARunDoesNotChange(t *testing.T) {
	for _, tt := range []struct {
		was  *event.Evidence
		is   *tasks.Evidence
		same bool
	}{
		{nil, nil, true},
		{&event.Evidence{Sign: "ssh"}, &tasks.Evidence{Sign: tasks.SignSSH}, true},
		{&event.Evidence{Sign: "ssh"}, nil, false},
		{nil, &tasks.Evidence{Sign: tasks.SignSSH}, false},
	} {
		if err := SameEvidence(&event.Run{Evidence: tt.was}, &tasks.Plan{Evidence: tt.is}); (err == nil) != tt.same {
			t.Errorf("%+v, %+v: %v", tt.was, tt.is, err)
		}
	}
	w := world.World{Getenv: func(string) string { return "" }, Now: time.Now}
	if err := ProveAgain(t.Context(), w, nil, &event.Run{}); err != nil {
		t.Errorf("a run without evidence: %v", err)
	}
	err := ProveAgain(t.Context(), w, nil, &event.Run{Evidence: &event.Evidence{Sign: "ssh"}})
	if kind(err) != event.ExitAuth || !strings.HasSuffix(err.Error(), "; nothing was changed") {
		t.Errorf("without a key: %v", err)
	}
}
