package shown

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// in copies the events of a run of the tests of package report to a new report directory.
func in(t *testing.T, name string) (w world.World, dir string, out, log *strings.Builder) {
	t.Helper()
	dir = t.TempDir()
	copyFile(t, filepath.Join(dir, "events.jsonl"), filepath.Join("..", "..", "..", "report", "testdata", name+".jsonl"))
	out, log = &strings.Builder{}, &strings.Builder{}
	return world.World{Out: out, Err: log, Getenv: func(string) string { return "" }}, dir, out, log
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRunIsPrintedAsItsFilesAre(t *testing.T) {
	files := map[string]string{"json": "json", "junit": "xml", "markdown": "md"}
	for _, f := range Formats() {
		w, dir, out, _ := in(t, "passed")
		if err := Print(w, dir, f); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if ending := files[f.Name]; ending != "" {
			want, err := os.ReadFile(filepath.Join("..", "..", "..", "report", "testdata", "passed."+ending))
			if err != nil || out.String() != string(want) {
				t.Errorf("%s: %v: %s", f.Name, err, out)
			}
			delete(files, f.Name)
		} else if out.Len() == 0 {
			t.Errorf("%s prints nothing", f.Name)
		}
	}
	if len(files) > 0 {
		t.Errorf("no format is called %v", files)
	}
}

func TestJobThatIsNotFoundHasASuggestion(t *testing.T) {
	w, dir, out, _ := in(t, "passed")
	run, err := savedrun.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	id := run.Report.Jobs[0].ID
	err = Report(t.Context(), w, ReportOptions{Run: dir, Job: id[:len(id)-1]})
	if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "did you mean "+id+"?") || out.Len() > 0 {
		t.Errorf("%v: %s", err, out)
	}
	if err := Report(t.Context(), w, ReportOptions{Run: dir, Job: id, JSON: true}); err != nil {
		t.Fatal(err)
	}
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(out.String()), &job); err != nil || job.ID != id {
		t.Errorf("%v: %s", err, out)
	}
	out.Reset()
	if err := Report(t.Context(), w, ReportOptions{Run: dir}); err != nil || !strings.Contains(out.String(), id) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRunWithoutEventsIsAMistakeOfTheCommandLine(t *testing.T) {
	w, _, out, _ := in(t, "passed")
	for name, err := range map[string]error{
		"report":   Report(t.Context(), w, ReportOptions{Run: t.TempDir()}),
		"sessions": Sessions(w, SessionOptions{Run: t.TempDir()}),
		"session":  Session(t.Context(), w, SessionOptions{Run: t.TempDir()}),
	} {
		if fault.ExitOf(err) != event.ExitUsage || out.Len() > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// A session without a journal is listed without the number of its messages, and can't be shown.
func TestSessionsAreListedWithTheirMessages(t *testing.T) {
	w, dir, out, log := in(t, "passed")
	run, err := savedrun.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	j, err := run.Report.Jobs[0].Complete()
	if err != nil {
		t.Fatal(err)
	}
	name := j.Sessions[0].Name()
	list := func() []sessionRow {
		out.Reset()
		if err := Sessions(w, SessionOptions{Run: dir, JSON: true}); err != nil {
			t.Fatal(err)
		}
		var doc struct{ Sessions []sessionRow }
		if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Sessions
	}
	rows := list()
	if len(rows) != 2 || rows[0].Session != name || rows[0].Messages != nil || log.Len() > 0 {
		t.Errorf("%+v, %s", rows, log)
	}
	if err := Session(t.Context(), w, SessionOptions{Run: dir, Job: name}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a session without a journal: %v", err)
	}
	copyFile(t, filepath.Join(dir, "sessions", name+".jsonl"), filepath.Join("..", "..", "..", "report", "transcript", "testdata", "fix.jsonl"))
	if rows := list(); rows[0].Messages == nil || *rows[0].Messages == 0 || rows[1].Messages != nil {
		t.Errorf("%+v", rows)
	}
	for _, o := range []SessionOptions{{Run: dir, Job: name, JSON: true}, {Run: dir, Job: name, Markdown: true}, {Run: dir, Job: name}} {
		out.Reset()
		if err := Session(t.Context(), w, o); err != nil || !strings.Contains(out.String(), "Fix") || strings.HasPrefix(out.String(), "{") != o.JSON {
			t.Errorf("%+v: %v: %s", o, err, out)
		}
	}
}

func TestSessionHasToBeChosenFromSeveralJobs(t *testing.T) {
	_, dir, _, _ := in(t, "matrix")
	run, err := savedrun.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "jobs: choose one of ", "missing": `session "missing" not found in the run; it has `} {
		if _, _, err := findSession(run, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, dir, _, _ = in(t, "empty")
	if run, err = savedrun.Load(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := findSession(run, ""); err == nil || !strings.Contains(err.Error(), "the run has no sessions") {
		t.Errorf("%v", err)
	}
}

func TestArgumentsOfASession(t *testing.T) {
	for _, tt := range []struct {
		o    SessionOptions
		args []string
		want string // error
	}{
		{SessionOptions{}, []string{"run"}, ""},
		{SessionOptions{}, []string{"run", "job"}, ""},
		{SessionOptions{}, nil, "requires RUN"},
		{SessionOptions{}, []string{"run", "job", "more"}, "requires RUN"},
		{SessionOptions{JSON: true, Markdown: true}, []string{"run"}, "can't be combined"},
	} {
		if err := tt.o.Parse(tt.args); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.args, err)
		}
	}
}

func TestOnlyTerminalsGetColours(t *testing.T) {
	w, _, _, _ := in(t, "passed")
	if got := Painter(w)(printable.Good, "passed"); got != "passed" {
		t.Errorf("%q", got)
	}
	w.Getenv = func(name string) string { return map[string]string{"FORCE_COLOR": "1"}[name] }
	if got := Painter(w)(printable.Good, "passed"); got != "\x1b[32mpassed\x1b[0m" {
		t.Errorf("%q with FORCE_COLOR", got)
	}
}
