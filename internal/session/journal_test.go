package session

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// journaled returns a journal that is written to a file.
func journaled(t *testing.T, file *bytes.Buffer) *journal.Writer {
	t.Helper()
	return journal.NewWriter(file, time.Now, func(line []byte) []byte { return line }, func(err error) { t.Error(err) })
}

// saved reads a journal.
func saved(t *testing.T, file *bytes.Buffer) *journal.State {
	t.Helper()
	state, torn, err := journal.Read(bytes.NewReader(file.Bytes()))
	if err != nil || torn != 0 {
		t.Fatalf("%v, %d bytes torn", err, torn)
	}
	return state
}

const writeAndEnd = `
  - text: I write.
    calls: [{tool: write, args: {filePath: new, content: one}}]
    usage: {input: 100, output: 10}
  - text: Done.
    usage: {input: 200, output: 20}
`

func TestTheJournalHasTheConversation(t *testing.T) {
	var file bytes.Buffer
	s := setUp(t, "edit", writeAndEnd, func(c *Config) { c.Journal, c.System = journaled(t, &file), "Be brief." })
	if end := s.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("end: %+v", end)
	}
	state := saved(t, &file)
	var got []model.Message
	for i, m := range state.Messages {
		if m.ID != s.talk.messages[i].ID || m.Time.IsZero() {
			t.Errorf("message %d: %+v", i, m)
		}
		got = append(got, m.Message)
	}
	for i := range got {
		got[i].ID = s.talk.messages[i].ID
	}
	if diff := cmp.Diff(s.talk.messages, got); diff != "" {
		t.Error(diff)
	}
	if state.Session.System != "Be brief." || len(state.Session.Tools) == 0 {
		t.Errorf("%+v", state.Session)
	}
	if r := state.Messages[1].Response; r == nil || r.Number != 1 || r.Usage.Input != 100 {
		t.Errorf("response: %+v", r)
	}
	if c := state.Messages[2].Call; c == nil || c.Status != event.CallCompleted || c.Title == "" || c.Input != nil {
		t.Errorf("call: %+v", c)
	}
	if len(state.Turns) != 2 || state.Turns[0].After != "m3" || state.Turns[1].After != "m4" {
		t.Errorf("turns: %+v", state.Turns)
	}
}

// TestNoRequestIsSentBeforeTheFilesAreSaved saves the files of a turn for a long time: a kill meanwhile loses no response.
func TestNoRequestIsSentBeforeTheFilesAreSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		var order []string
		s := setUp(t, "edit", writeAndEnd, func(c *Config) {
			c.Journal = journaled(t, &file)
			c.Emit = func(e event.Event) {
				if e.Turn != nil {
					order = append(order, string(e.Type))
				}
			}
			c.Checkpoint = func(context.Context) (string, bool) {
				time.Sleep(time.Hour)
				order = append(order, "saved")
				return "tree", true
			}
		})
		if end := s.Run(t.Context(), "go"); !end.Done() {
			t.Fatalf("end: %+v", end)
		}
		if want := []string{"turn.started", "saved", "turn.ended", "turn.started", "turn.ended"}; !slices.Equal(order, want) {
			t.Errorf("%q", order)
		}
		if turns := saved(t, &file).Turns; len(turns) != 2 || turns[0].Tree != "tree" || turns[1].Tree != "" {
			t.Errorf("turns: %+v", turns)
		}
	})
}

// TestATurnWhoseFilesAreNotSavedIsNotJournaled fails to save the files of the first turn: those of the second have both.
func TestATurnWhoseFilesAreNotSavedIsNotJournaled(t *testing.T) {
	var file bytes.Buffer
	trees := []string{"", "tree"}
	s := setUp(t, "edit", `
  - text: I write.
    calls: [{tool: write, args: {filePath: new, content: one}}]
  - text: I read.
    calls: [{tool: read, args: {filePath: new}}]
  - text: I read again.
    calls: [{tool: read, args: {filePath: new}}]
  - text: Done.
`, func(c *Config) {
		c.Journal = journaled(t, &file)
		c.Checkpoint = func(context.Context) (string, bool) {
			tree := trees[0] // fails if there is a third save
			trees = trees[1:]
			return tree, tree != ""
		}
	})
	if end := s.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("end: %+v", end)
	}
	turns := saved(t, &file).Turns
	if len(turns) != 3 || turns[0].Number != 2 || turns[0].Tree != "tree" || turns[1].Tree != "" || len(trees) != 0 {
		t.Errorf("turns: %+v", turns)
	}
}

// TestAResumedSessionContinuesAnywhere cuts the journal after each line: the session that
// continues from there makes only the requests that are missing.
func TestAResumedSessionContinuesAnywhere(t *testing.T) {
	var file bytes.Buffer
	first := setUp(t, "edit", writeAndEnd, func(c *Config) { c.Journal = journaled(t, &file) })
	if end := first.Run(t.Context(), "go"); !end.Done() {
		t.Fatalf("end: %+v", end)
	}
	// What is left of the script after each line: session, prompt, response, result, turn,
	// response, turn.
	const last = "\n  - text: Done.\n    usage: {input: 200, output: 20}\n"
	scripts := []string{writeAndEnd, writeAndEnd, last, last, last, "", ""}
	lines := bytes.SplitAfter(file.Bytes(), []byte("\n"))
	if len(lines) != len(scripts)+1 {
		t.Fatalf("%d lines:\n%s", len(lines), file.Bytes())
	}
	for n := range scripts {
		state, torn, err := journal.Read(bytes.NewReader(append(bytes.Join(lines[:n+1], nil), lines[n+1][:len(lines[n+1])/2]...)))
		if err != nil || torn != len(lines[n+1])/2 {
			t.Fatalf("%d: %v, %d bytes torn", n, err, torn)
		}
		if err := state.Resume(nil); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		script := scripts[n]
		if script == "" {
			script = "\n  - text: not used\n"
		}
		continued := *bytes.NewBuffer(bytes.Join(lines[:n+1], nil))
		s := setUp(t, "edit", script, func(c *Config) { c.Journal = journaled(t, &continued) })
		totals, ended := event.Totals{}, 0
		if n > 3 { // the first turn had ended
			totals.Turns, totals.Calls, totals.Usage, ended = 1, 1, money.Usage{Input: 100, Output: 10}, 1
		}
		s.Resume(state, totals, ended)
		run := func() End { return s.Continue(t.Context()) }
		if n == 0 {
			run = func() End { return s.Run(t.Context(), "go") }
		}
		if end := run(); !end.Done() || end.Text != "Done." {
			t.Errorf("%d lines: %+v", n+1, end)
		}
		if got := s.Totals(); got.Turns != 2 || got.Calls != 1 || got.Usage != (money.Usage{Input: 300, Output: 30}) {
			t.Errorf("%d lines: %+v", n+1, got)
		}
		ignoreID := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" && len(p) == 3 }, cmp.Ignore())
		if diff := cmp.Diff(first.talk.messages, s.talk.messages, ignoreID); diff != "" {
			t.Errorf("%d lines: %s", n+1, diff)
		}
		// The next process reads the same conversation.
		again := saved(t, &continued)
		if got := len(again.Messages); got != len(s.talk.messages) || len(again.Turns) != 2 {
			t.Errorf("%d lines: %d messages and %d turns are saved, want %d and 2", n+1, got, len(again.Turns), len(s.talk.messages))
		}
	}
}
