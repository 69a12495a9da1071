// Package reporttest makes events of runs, texts and reports for the tests of reports and their formats. It checks nothing.
package reporttest

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// Clock gives times a second apart, from a fixed one.
func Clock() func() time.Time {
	now := time.Date(2026, 3, 4, 9, 30, 0, 123456789, time.FixedZone("", 3600))
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// Fold passes live events through a stream, as a run does.
func Fold(tb testing.TB, events ...event.Event) *report.Report {
	tb.Helper()
	var f report.Fold
	s := event.NewStream(Clock(), &f)
	for _, e := range events {
		s.Emit(e)
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return f.Report()
}

// Planned is the start of a run with these jobs.
func Planned(jobs ...string) event.Event {
	run := &event.Run{ID: "r", PlanHash: "h", Version: "v"}
	for _, id := range jobs {
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: id, Task: id, Repo: "shop"})
	}
	return event.Event{Type: event.RunStarted, Run: run}
}

// Started is the start of a job.
func Started(job string) event.Event {
	return event.Event{Type: event.JobStarted, Job: job, JobStart: &event.JobStart{Sandbox: event.Sandbox{Level: "A"}}}
}

// TurnEnded is the end of a turn of job a.
func TurnEnded(session string, number int, cost *money.USD) event.Event {
	return event.Event{Type: event.TurnEnded, Job: "a", Session: session, Turn: &event.Turn{Number: number, Usage: &money.Usage{Input: 10, Output: 1}, CostUSD: cost}}
}

// Called is the state of a call of job a.
func Called(session string, turn int, id string, status event.CallStatus) event.Event {
	return event.Event{Type: event.CallUpdated, Job: "a", Session: session, Call: &event.Call{ID: id, Turn: turn, Tool: "read", Status: status}}
}

// JobEnded is the end of a job.
func JobEnded(job string, end event.JobEnd) event.Event {
	return event.Event{Type: event.JobEnded, Job: job, JobEnd: &end}
}

// RunEnded is the end of a run.
func RunEnded(outcome event.Outcome, exit event.Exit) event.Event {
	return event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: outcome, ExitCode: exit, ElapsedMS: 7}}
}

// Costs is a known cost.
func Costs(dollars float64) *money.USD {
	return new(money.USD(math.Round(dollars * float64(money.Dollar))))
}

// Lived is a run with the text, the arguments and the cost wherever a model,
// a tool or a repository could have put them.
func Lived(text string, input json.RawMessage, usd *money.USD) []event.Event {
	denied := &event.Decision{Effect: "deny", Rule: text, Source: text}
	return []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{
			{ID: "a", Task: text, Repo: text, Model: text, Matrix: map[string]string{"m": text}}, {ID: "b", Repo: "shop"},
		}}},
		Started("a"),
		{Type: event.SessionStarted, Job: "a", Session: "s", SessionInfo: &event.Session{Agent: text, Parent: text}},
		{Type: event.TurnStarted, Job: "a", Session: "s", Turn: &event.Turn{Number: 1}},
		{Type: event.CallUpdated, Job: "a", Session: "s", Call: &event.Call{ID: text, Turn: 1, Tool: text, Input: input, Status: event.CallDenied, Decision: denied, Error: text}},
		{Type: event.CallUpdated, Job: "a", Session: "s", Call: &event.Call{ID: text, Turn: 1, Tool: text, Input: input, Status: event.CallRunning, StartedAt: Clock()()}},
		TurnEnded("s", 1, usd),
		{Type: event.SessionEnded, Job: "a", Session: "s", SessionInfo: &event.Session{Agent: text, Parent: text, End: text, Reason: text}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: text, Attempt: 1, ExitCode: 1, Tail: text}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: text, Attempt: 2, ExitCode: -1, Tail: text}},
		{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: text, Kind: "added"}}},
		{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: "0123456789", Branch: text, Message: text}},
		{Type: event.WarningIssued, Warning: &event.Warning{Message: text}},
		JobEnded("a", event.JobEnd{Outcome: event.Policy, Reason: text, Turns: 1, CostUSD: usd, FinalMessage: text, Output: input}),
		RunEnded(event.Policy, event.ExitPolicy),
	}
}

// Texts are what hostile or unlucky models, tools and repositories write.
func Texts() []string {
	return []string{
		"", "plain words", "two\nlines\r\nand\rmore\n", "\xff\xfe invalid \xc3", "\x00\x07\x1b[31mred\x1b]52;c;eA==\x07\x7f",
		"\u009b31m \u202egnp\u2066 \u200b\ufeff\u2028\u2029 \ufffe\uffff\ufffd \U000e0041", "]]><a>&amp;&#0;<!--", "```\n````\n~~~", "` `` ` \\` \\| a|b",
		"![i](http://x.example/i.png) [l]: http://x.example <http://x.example> http://x.example www.x.example WWW.x.example a@x.example @octocat o/r#1",
		"::set-env name=A::b\n  ::add-mask::x\n##[error]y\n##vso[task.x]y ##teamcity[z]\n--- a title", "</pre></code></details><script>alert(1)</script><img src=x>", "# h\n- l\n1. n\n> q\n---\n===\n\tt\n    c",
		"$x$ $`y`$ ***b*** __u__ ~~s~~ :smile: [^1] \\\\", "emoji 👩\u200d💻 ünï 漢字 \u0645\u200c", "=cmd|'/c'!A1", "{\"a\": [1, {\"b\": \"##[\"}]}",
	}
}

// RandomText is a random text of chunks that mean something to XML, to Markdown or
// to a terminal, and of random bytes.
func RandomText(random *rand.Rand) string {
	chunks := append(Texts(), "]]>", "<", "&", "&#x0;", "\"", "'", "`", "|", "\\", "\n", "\n\n", " ", "@u", "#1", "[", "](x)", "!", "*", "_", "<!--", "-->", "<?", "\x1b", "\xff", "\u202e", "www.", "://")
	var b strings.Builder
	for range 1 + random.IntN(6) {
		if random.IntN(4) > 0 {
			b.WriteString(chunks[random.IntN(len(chunks))])
			continue
		}
		for range random.IntN(8) {
			b.WriteByte(byte(random.Uint32()))
		}
	}
	return b.String()
}

// Streams are the stored streams of the testdata of package report, by name.
func Streams(tb testing.TB, testdata string) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "*.jsonl"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("find streams: %d files, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = text
	}
	return out
}

// Load returns the report of a stored stream.
func Load(tb testing.TB, stream []byte) *report.Report {
	tb.Helper()
	r, err := report.Load(bytes.NewReader(stream))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Render returns what a format writes of a report.
func Render(tb testing.TB, write func(io.Writer, *report.Report) error, r *report.Report) string {
	tb.Helper()
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// Findings are outputs of reviews for [Reviewed].
func Findings() map[string]string {
	return map[string]string{
		"review": `{"summary": "s <b>", "findings": [
			{"path": "src/a b#1.go", "line": 7, "severity": "error", "rule": "SQL injection", "message": "m | \u202e [x](y)", "suggestion": "use ?"},
			{"path": "src/a b#1.go", "line": 9, "severity": "error", "rule": "sql-injection", "message": "again", "suggestion": ""},
			{"path": "/etc/passwd", "line": 1, "severity": "note", "rule": "x", "message": "elsewhere", "suggestion": ""}]}`,
		"clean": `{"summary": "Nothing.", "findings": []}`,
		"other": `{"summary": "no review", "findings": [{"path": "x"}]}`,
	}
}

// Reviewed returns the report of the jobs review, clean and failed with the output schema of findings, and of the job other without; one
// without an output failed.
func Reviewed(tb testing.TB, outputs map[string]string) *report.Report {
	tb.Helper()
	run := &event.Run{ID: "r", Version: "1.0.0", Jobs: []event.PlannedJob{
		{ID: "review", Findings: true, Location: "https://user:secret@git.example.com/shop ref=main"}, {ID: "clean", Findings: true, Location: "/src/shop"}, {ID: "failed", Findings: true}, {ID: "other"},
	}}
	events := []event.Event{{Type: event.RunStarted, Run: run}}
	for _, j := range run.Jobs {
		end := event.JobEnd{Outcome: event.Passed, Output: json.RawMessage(outputs[j.ID])}
		if outputs[j.ID] == "" {
			end = event.JobEnd{Outcome: event.Failed, Reason: "denied"}
		}
		events = append(events, event.Event{Type: event.JobStarted, Job: j.ID, JobStart: &event.JobStart{Base: "0c9d"}}, JobEnded(j.ID, end))
	}
	return Fold(tb, events...)
}

// Lines are the lines of events.jsonl for events.
func Lines(tb testing.TB, events ...event.Event) []byte {
	tb.Helper()
	var text bytes.Buffer
	s := event.NewStream(Clock(), event.SinkFunc(func(e event.Event) error {
		line, err := event.Line(e)
		text.Write(append(line, '\n'))
		return err
	}))
	for _, e := range events {
		s.Emit(e)
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return text.Bytes()
}
