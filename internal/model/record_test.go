package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

func canon(values ...Placeholder) *Canon {
	return NewCanon(values, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") })
}

// sample is a conversation that has something of everything.
func sample() Request {
	half := 0.5
	return Request{
		System: "You work in /work/shop since 2026-07-01.",
		Messages: []Message{
			{Role: User, Text: "Go."},
			{Role: Assistant, Text: "I read.", Reasoning: "hm", Calls: []ToolCall{{ID: "c1", Name: "read", Input: `{"path":"/work/shop/a.go"}`}}},
			{Role: ToolRole, CallID: "c1", Tool: "read", Text: "ok shop 0.012s", Attachments: []Attachment{{"a.png", "image/png", []byte("png")}}},
		},
		Tools: []ToolSpec{
			{"read", "Reads.", map[string]any{"type": "object", "required": []any{"path"}}},
			{"write", "Writes.", map[string]any{"type": "object"}},
		},
		Sampling: Sampling{MaxOutput: 100, Temperature: &half, Effort: "low"},
	}
}

func TestRequestHash(t *testing.T) {
	home := canon(Placeholder{"workspace", "/work/shop"})
	want := home.Request(sample())
	tests := []struct {
		name   string
		change func(*Request)
		canon  *Canon
		same   bool
	}{
		{"nothing else", func(*Request) {}, home, true},
		{"the order of tools", func(r *Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] }, home, true},
		{"another workspace", func(r *Request) {
			r.System = strings.ReplaceAll(r.System, "/work/shop", "/ci/build/7")
			r.Messages[1].Calls[0].Input = `{"path":"/ci/build/7/a.go"}`
		}, canon(Placeholder{"workspace", "/ci/build/7"}), true},
		{"another day", func(r *Request) { r.System = strings.Replace(r.System, "2026-07-01", "2027-01-31", 1) }, home, true},
		{"another duration", func(r *Request) { r.Messages[2].Text = "ok shop 1.3s" }, home, true},
		{"the cache key", func(r *Request) { r.CacheKey = "session 9" }, home, true},
		{"a wire's state", func(r *Request) { r.Messages[1].State = &State{"x", json.RawMessage(`{}`)} }, home, true},
		{"no workspace", func(*Request) {}, canon(), false},
		{"the system prompt", func(r *Request) { r.System += "!" }, home, false},
		{"a result", func(r *Request) { r.Messages[2].Text = "FAIL shop 0.012s" }, home, false},
		{"that a call failed", func(r *Request) { r.Messages[2].Failed = true }, home, false},
		{"an attachment", func(r *Request) { r.Messages[2].Attachments[0].Data = []byte("pnk") }, home, false},
		{"a call", func(r *Request) { r.Messages[1].Calls[0].Input = "{}" }, home, false},
		{"an earlier message", func(r *Request) { r.Messages[0].Text = "Come." }, home, false},
		{"a message more", func(r *Request) { r.Messages = append(r.Messages, Message{Role: User}) }, home, false},
		{"a tool less", func(r *Request) { r.Tools = r.Tools[1:] }, home, false},
		{"a tool's description", func(r *Request) { r.Tools[0].Description = "Reads a file." }, home, false},
		{"a tool's schema", func(r *Request) { r.Tools[0].Schema["required"] = nil }, home, false},
		{"the temperature", func(r *Request) { r.Temperature = nil }, home, false},
		{"the effort", func(r *Request) { r.Effort = "high" }, home, false},
		{"the most of output", func(r *Request) { r.MaxOutput++ }, home, true},
		{"the output schema", func(r *Request) { r.Output = map[string]any{"type": "object"} }, home, false},
	}
	for _, test := range tests {
		req := sample()
		test.change(&req)
		if got := test.canon.Request(req); (got.Hash == want.Hash) != test.same {
			t.Errorf("%s: the hash is to be the same: %v; the requests:\n%s", test.name, test.same, cmp.Diff(want, got))
		}
	}
}

func TestMergeOfSimilarRuns(t *testing.T) {
	tests := []struct{ text, want string }{
		{"2026-07-01T10:11:12.5Z and 2026-07-01 10:11", "<time> and <time>"},
		{"Wed Jul  1 10:11:12 UTC 2026", "<time>"},
		{"Date:   Wed Jul 1 10:11:12 2026 +0200", "Date:   <time>"},
		{"-rw-r--r-- 1 ada ada 12 Jul  1 10:11 a.go", "-rw-r--r-- 1 ada ada 12 <time> a.go"},
		{"at 9:11:12", "at <time>"},
		{"--- FAIL: TestX (0.00s)", "--- FAIL: TestX (<duration>)"},
		{"real 1m2.5s, 12 seconds, 7ms, 3 µs", "real <duration>, <duration>, <duration>, <duration>"},
		{"commit 0123456789abcdef0123456789abcdef01234567", "commit <object>"},
		{"[main 1a2b3c4] x", "[main <object>] x"},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "<uuid>"},
		{"/tmp/TestX123/001/a.go", "/tmp/<temp>/001/a.go"},
		{"facade 1234567 deadbeef 12 files in a week", "facade 1234567 deadbeef 12 files in a week"},
		{"line 12: i := 5 * size; v1.2.3; 10:11", "line 12: i := 5 * size; v1.2.3; 10:11"},
		{"/work/shop/a.go of /work/shop/sub/b.go", "{{millhand:workspace}}/a.go of {{millhand:sub}}/b.go"},
		{"the password is hunter2", "the password is [secret]"},
		{"bytes \xff\xfe", "bytes \xff\xfe"},
		{"", ""},
	}
	c := canon(Placeholder{"workspace", "/work/shop"}, Placeholder{"none", ""}, Placeholder{"sub", "/work/shop/sub"})
	for _, test := range tests {
		got := c.compare(test.text)
		if got != test.want {
			t.Errorf("%q counts as %q, want %q", test.text, got, test.want)
		}
		if again := c.compare(c.shown.Replace(got)); again != got {
			t.Errorf("%q counts as %q when it is played back, and was %q", test.text, again, got)
		}
	}
}

func TestLongTextsAreCutInTheMiddle(t *testing.T) {
	for _, n := range []int{excerptLimit / 2, excerptLimit, 1 << 20} {
		s := strings.Repeat("é", n/2)
		got := cut(s)
		if len(got) > excerptLimit+100 || (got == s) != (len(s) <= excerptLimit) {
			t.Errorf("%d bytes become %d", len(s), len(got))
		}
	}
	a, b := strings.Repeat("a", 1<<20), []byte(strings.Repeat("a", 1<<20))
	b[1<<19] = 'b'
	if cut(a) == cut(string(b)) {
		t.Error("texts that differ in the middle are cut to the same")
	}
}

// exchanges reads the lines of a file.
func exchanges(t *testing.T, path string) []Exchange {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []Exchange
	for line := range bytes.Lines(data) {
		var e Exchange
		if err := json.Unmarshal(line, &e); err != nil || line[len(line)-1] != '\n' {
			t.Fatalf("line %d: %v: %s", len(list)+1, err, line)
		}
		list = append(list, e)
	}
	return list
}

// fixedResponse is a model that always returns the same.
type fixedResponse struct {
	resp Response
	err  error
}

func (s fixedResponse) Stream(context.Context, Request, func(Delta)) (Response, error) {
	return s.resp, s.err
}

func open(t *testing.T, path string) *Recorder {
	t.Helper()
	rec, err := OpenRecorder(path, canon(Placeholder{"workspace", "/work/shop"}))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRecording(t *testing.T) {
	usd, resp := money.Dollar/4, Response{
		Text: "hunter2 in /work/shop", Reasoning: "hunter2!",
		Calls:  []ToolCall{{ID: "c1", Name: "read", Input: `{"path":"/work/shop/hunter2"}`}},
		Finish: FinishTools, Usage: &money.Usage{Input: 5, Output: 3}, State: &State{"x", json.RawMessage(`{"said":"hunter2"}`)},
	}
	resp.CostUSD = &usd
	recorded := &RecordedResponse{
		Text: "[secret] in {{millhand:workspace}}", Reasoning: "[secret]!",
		Calls:  []ToolCall{{ID: "c1", Name: "read", Input: `{"path":"{{millhand:workspace}}/[secret]"}`}},
		Finish: FinishTools, Usage: &money.Usage{Input: 5, Output: 3}, State: &State{"x", json.RawMessage(`{"said":"[secret]"}`)}, CostUSD: &usd,
	}
	failed := &Error{Class: ClassRate, Status: 429, RetryAfter: 5, Err: errors.New("no hunter2")}
	tests := []struct {
		name  string
		model fixedResponse
		want  *RecordedResponse
		err   *Failure
	}{
		{"a response", fixedResponse{resp: resp}, recorded, nil},
		{"a failure", fixedResponse{err: failed}, nil, &Failure{ClassRate, 429, "no [secret]"}},
		{"a failure after retries", fixedResponse{err: fmt.Errorf("5 attempts: %w", failed)}, nil, &Failure{ClassRate, 429, "5 attempts: no [secret]"}},
		{"a failure without a message", fixedResponse{err: &Error{Class: ClassAuth}}, nil, &Failure{ClassAuth, 0, "model request failed (auth): <nil>"}},
		{"a cancelled request", fixedResponse{err: context.Canceled}, nil, &Failure{"", 0, "context canceled"}},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		rec := open(t, path)
		got, err := Recording(test.model, rec, "fix", "openai/x").Stream(t.Context(), sample(), nil)
		if !errors.Is(err, test.model.err) || cmp.Diff(test.model.resp, got) != "" {
			t.Errorf("%s: recording changed what came to %+v and %v", test.name, got, err)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		asked := rec.canon.Request(sample())
		asked.Prompt = "You work in {{millhand:workspace}} since <time>."
		if diff := cmp.Diff([]Exchange{{Version: RecordingVersion, Job: "fix", Model: "openai/x", Request: asked, Response: test.want, Error: test.err}}, exchanges(t, path)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", test.name, diff)
		}
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("hunter2")) || bytes.Contains(data, []byte("/work/shop")) {
			t.Errorf("%s: a secret or a value is in it: %s", test.name, data)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", test.name, info.Mode(), err)
		}
	}
}

func TestJobsRecordConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	rec := open(t, path)
	var all sync.WaitGroup
	const jobs, turns = 8, 10
	for i := range jobs {
		all.Go(func() {
			m := Recording(fixedResponse{resp: Response{Text: strings.Repeat("x", 10_000)}}, rec, fmt.Sprint(i), "openai/x")
			for range turns {
				if _, err := m.Stream(t.Context(), sample(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	rec = open(t, path) // and goes on
	if _, err := Recording(fixedResponse{}, rec, "more", "openai/x").Stream(t.Context(), sample(), nil); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	count, prompts := map[string]int{}, 0
	for _, e := range exchanges(t, path) {
		count[e.Job]++
		if e.Request.Prompt != "" {
			prompts++
		}
	}
	if len(count) != jobs+1 || count["0"] != turns || count["more"] != 1 || prompts != 2 {
		t.Errorf("exchanges %v, with the system prompt %d times", count, prompts)
	}
}

func TestARecordingWithAnIncompleteLineIsNotContinued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte("{}\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecorder(path, canon()); err == nil || !strings.Contains(err.Error(), "last line") {
		t.Errorf("got %v", err)
	}
	if _, err := OpenRecorder(filepath.Join(path, "x"), canon()); err == nil {
		t.Error("a file within a file")
	}
}

func TestAWriteErrorIsReportedAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	rec := open(t, path)
	rec.file.Close()
	m := Recording(fixedResponse{resp: Response{Text: "yes"}}, rec, "fix", "openai/x")
	for range 2 {
		if resp, err := m.Stream(t.Context(), sample(), nil); err != nil || resp.Text != "yes" {
			t.Errorf("got %+v and %v", resp, err)
		}
	}
	if err := rec.Close(); err == nil || !strings.Contains(err.Error(), "record an exchange of fix") {
		t.Errorf("got %v", err)
	}
}
