package transcript_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

var update = flag.Bool("update", false, "write the golden files")

// saved returns the session that a journal in testdata contains.
func saved(t *testing.T, name string) *transcript.Session {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	state, _, err := journal.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	cost := 21 * money.Dollar / 1000
	return &transcript.Session{Name: name, State: state, About: report.Session{Agent: "build", Model: "openai/gpt-5-mini", Turns: 3, CostUSD: &cost, End: "done"}}
}

func TestTranscripts(t *testing.T) {
	for _, name := range []string{"fix", "hostile"} {
		s := saved(t, name)
		var text, markdown bytes.Buffer
		if err := transcript.Text(&text, s, func(_ printable.Style, text string) string { return text }); err != nil {
			t.Fatal(err)
		}
		if err := transcript.Markdown(&markdown, s); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", text.String())
		golden(t, name+".md", markdown.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestTextHasOnlyItsOwnStyles(t *testing.T) {
	var text bytes.Buffer
	if err := transcript.Text(&text, saved(t, "hostile"), func(_ printable.Style, text string) string { return "<" + text + ">" }); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.ContainsAny(line, "\x1b\r\u202e\u009b") || strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("a line that is not safe: %q", line)
		}
	}
}

func TestMessagesAreListedOnce(t *testing.T) {
	s := saved(t, "fix")
	var ids []string
	for _, m := range s.Messages() {
		ids = append(ids, m.ID)
	}
	if diff := cmp.Diff([]string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m9"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := s.Messages()[2].Text; !strings.Contains(text, "line 30") {
		t.Errorf("the result that was removed later is %q", text)
	}
}
