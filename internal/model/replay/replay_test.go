package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// taped is a model that returns one response after the other.
type taped struct {
	results []any // model.Response or error
	made    int
}

func (s *taped) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	said := s.results[s.made]
	s.made++
	if err, ok := said.(error); ok {
		return model.Response{}, err
	}
	return said.(model.Response), nil
}

func canon(workspace string) *model.Canon {
	return model.NewCanon([]model.Placeholder{{Name: "workspace", Value: workspace}}, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") })
}

// converse holds a conversation of some turns with a model, in a directory that
// tool results and calls tell of, and writes down what came of it.
func converse(ctx context.Context, m model.Model, workspace, took string, turns int) ([]model.Response, error) {
	req := model.Request{System: "You work in " + workspace, Messages: []model.Message{{Role: model.User, Text: "Go."}}}
	var got []model.Response
	for range turns {
		resp, err := m.Stream(ctx, req, nil)
		if err != nil {
			return got, err
		}
		got = append(got, resp)
		req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls, State: resp.State})
		for _, c := range resp.Calls {
			req.Messages = append(req.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: "ran " + c.Input + " with hunter2 \xff in " + took})
		}
	}
	return got, nil
}

func respond() []any {
	usd := money.Dollar / 2
	call := model.Response{
		Text: "I look.", Reasoning: "hm", Calls: []model.ToolCall{{ID: "c1", Name: "bash", Input: `{"command":"ls /work/shop"}`}},
		Finish: model.FinishTools, Usage: &money.Usage{Input: 10, Output: 5, Reasoning: 2, CacheRead: 3, CacheWrite: 1}, CostUSD: &usd,
		State: &model.State{Wire: "x", Data: []byte(`{"a":1}`)},
	}
	return []any{call, call, model.Response{Text: "Done in /work/shop.", Finish: model.FinishStop}}
}

// record records conversations of jobs and returns the file.
func record(t *testing.T, jobs map[string][]any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	rec, err := model.OpenRecorder(path, canon("/work/shop"))
	if err != nil {
		t.Fatal(err)
	}
	for job, results := range jobs {
		_, _ = converse(t.Context(), model.Recording(&taped{results: results}, rec, job, "openai/x"), "/work/shop", "0.5s", len(results)) // failures are recorded too
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path, workspace string) *Recording {
	t.Helper()
	r, err := Open(path, canon(workspace))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARecordedConversationPlaysInAnotherDirectory(t *testing.T) {
	path := record(t, map[string][]any{"fix": respond()})
	for range 2 { // and twice gives the same
		p := open(t, path, "/ci/7").Player("fix")
		got, err := converse(t.Context(), p, "/ci/7", "12.25s", 3)
		if err != nil {
			t.Fatal(err)
		}
		var want []model.Response
		for _, a := range respond() {
			resp := a.(model.Response)
			resp.Text = strings.ReplaceAll(resp.Text, "/work/shop", "/ci/7")
			for i := range resp.Calls {
				resp.Calls[i].Input = strings.ReplaceAll(resp.Calls[i].Input, "/work/shop", "/ci/7")
			}
			want = append(want, resp)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-recorded +played):\n%s", diff)
		}
		if err := p.Finish(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheSameRequestIsPlayedInOrder(t *testing.T) {
	path := record(t, map[string][]any{})
	rec, err := model.OpenRecorder(path, canon(""))
	if err != nil {
		t.Fatal(err)
	}
	m := model.Recording(&taped{results: []any{model.Response{Text: "1"}, model.Fail(model.ClassRate, errors.New("busy")), model.Response{Text: "3"}}}, rec, "fix", "openai/x")
	for range 3 {
		_, _ = m.Stream(t.Context(), model.Request{}, nil)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, path, "")
	var got []string
	for range 4 {
		resp, err := r.Player("fix").Stream(t.Context(), model.Request{}, nil)
		got = append(got, resp.Text+string(model.ClassOf(err)))
	}
	if diff := cmp.Diff([]string{"1", "rate", "3", "script"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailuresAreReplayed(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		class  model.ErrorClass
		status int
		text   string
	}{
		{"of a provider", &model.Error{Class: model.ClassRate, Status: 429, RetryAfter: 7, Err: errors.New("busy")}, model.ClassRate, 429, "busy"},
		{"after retries", fmt.Errorf("5 attempts: %w", model.Fail(model.ClassUnavailable, errors.New("gone"))), model.ClassUnavailable, 0, "5 attempts: gone"},
		{"of the caller", context.Canceled, model.ClassScript, 0, "run.jsonl:1: the recorded run cancelled this request: context canceled"},
	}
	for _, test := range tests {
		p := open(t, record(t, map[string][]any{"fix": {test.err}}), "/work/shop").Player("fix")
		_, err := converse(t.Context(), p, "/work/shop", "", 1)
		var e *model.Error
		if !errors.As(err, &e) || e.Class != test.class || e.Status != test.status || e.RetryAfter != -1 || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

func TestReplayMismatchShowsDiff(t *testing.T) {
	path := record(t, map[string][]any{"fix": respond()})
	first := model.Request{System: "You work in /work/shop", Messages: []model.Message{{Role: model.User, Text: "Go."}}}
	tests := []struct {
		name   string
		job    string
		change func(*model.Request)
		want   []string
	}{
		{"another prompt", "fix", func(r *model.Request) { r.Messages[0].Text = "Come." }, []string{"line 1", "what came since", "-Go.", "+Come."}},
		{"another system prompt", "fix", func(r *model.Request) { r.System = "You rest." }, []string{"line 1", "the system prompt", "-You work in {{millhand:workspace}}", "+You rest."}},
		{"another tool", "fix", func(r *model.Request) { r.Tools = []model.ToolSpec{{Name: "dig"}} }, []string{"line 1", "the tools", "+dig "}},
		{"another effort", "fix", func(r *model.Request) { r.Effort = "high" }, []string{"line 1", "effort"}},
		{"a long prompt", "fix", func(r *model.Request) { r.Messages[0].Text = strings.Repeat("dig\n", 1<<16) }, []string{"line 1", "+dig", "bytes more"}},
		{"a history that was not", "fix", func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "x"}, model.Message{Role: model.User, Text: "And?"}, model.Message{Role: model.User, Text: "Well?"})
		}, []string{"the messages are 4, and were ", "up to the model's last one", "+And?"}},
		{"another job", "repair", func(*model.Request) {}, []string{"no requests of repair", "it has those of: fix"}},
		{"a secret", "fix", func(r *model.Request) { r.Messages[0].Text = "hunter2" }, []string{"+[secret]"}},
	}
	for _, test := range tests {
		req := first
		req.Messages = append([]model.Message(nil), first.Messages...)
		test.change(&req)
		_, err := open(t, path, "/work/shop").Player(test.job).Stream(t.Context(), req, func(model.Delta) { t.Errorf("%s: emitted a response", test.name) })
		if model.ClassOf(err) != model.ClassScript {
			t.Errorf("%s: got %v", test.name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", test.name, want, err)
			}
		}
		if len(err.Error()) > 3*diffLimit || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %d bytes: %v", test.name, len(err.Error()), err)
		}
	}
}

func TestRequestsBeyondTheRecording(t *testing.T) {
	p := open(t, record(t, map[string][]any{"fix": respond()[2:]}), "/work/shop").Player("fix")
	if _, err := converse(t.Context(), p, "/work/shop", "", 2); model.ClassOf(err) != model.ClassScript || !strings.Contains(err.Error(), "all 1 were replayed") {
		t.Errorf("got %v", err)
	}
}

func TestFinishReportsUnusedExchanges(t *testing.T) {
	r := open(t, record(t, map[string][]any{"fix": respond()}), "/work/shop")
	p := r.Player("fix")
	if _, err := converse(t.Context(), p, "/work/shop", "", 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(); model.ClassOf(err) != model.ClassScript || !strings.Contains(err.Error(), "run.jsonl:2: this exchange of fix was not used (unused in all: 2)") {
		t.Errorf("got %v", err)
	}
	if err := r.Player("repair").Finish(); err != nil {
		t.Errorf("a job that has nothing: %v", err)
	}
}

func TestAResponseIsEmittedInChunks(t *testing.T) {
	p := open(t, record(t, map[string][]any{"fix": respond()}), "/work/shop").Player("fix")
	var got []model.Delta
	req := model.Request{System: "You work in /work/shop", Messages: []model.Message{{Role: model.User, Text: "Go."}}}
	if _, err := p.Stream(t.Context(), req, func(d model.Delta) { got = append(got, d) }); err != nil {
		t.Fatal(err)
	}
	want := []model.Delta{{Kind: model.ReasoningDelta, Text: "hm"}, {Kind: model.TextDelta, Text: "I look."}, {Kind: model.CallDelta, Call: "c1", Text: "bash"}, {Kind: model.InputDelta, Call: "c1", Text: `{"command":"ls /work/shop"}`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobsPlayConcurrently(t *testing.T) {
	jobs := map[string][]any{}
	for i := range 8 {
		jobs[fmt.Sprint(i)] = respond()
	}
	r := open(t, record(t, jobs), "/work/shop")
	var all sync.WaitGroup
	for job := range jobs {
		all.Go(func() {
			p := r.Player(job)
			if _, err := converse(t.Context(), p, "/work/shop", "1s", 3); err != nil {
				t.Error(err)
			}
			if err := p.Finish(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestACancelledRequestGetsNoResponse(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("over")
	cancel(reason)
	p := open(t, record(t, map[string][]any{"fix": respond()}), "/work/shop").Player("fix")
	if _, err := converse(ctx, p, "/work/shop", "", 1); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

// line is an exchange of the least size.
var line = `{"v":2,"job":"fix","request":{"hash":"` + strings.Repeat("0a", 32) + `"},"response":{"text":"yes","finish":"stop"}}`

func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // of the error; "" for none
	}{
		{"nothing", "", ""},
		{"one exchange", line + "\n", ""},
		{"one that a killed run was about to write", line + "\n" + line[:40], ""},
		{"an empty line", line + "\n\n", "run.jsonl:2: decode an exchange"},
		{"no JSON", "hello\n", "run.jsonl:1: decode an exchange"},
		{"no object", "[]\n", "run.jsonl:1: decode an exchange"},
		{"another version", strings.Replace(line, `"v":2`, `"v":1`, 1) + "\n", "run.jsonl:1: version 1 is not supported"},
		{"no version", "{}\n", "version 0 is not"},
		{"an invalid hash", strings.Replace(line, "0a", "0x", 1) + "\n", "hash"},
		{"a short hash", strings.Replace(line, "0a", "", 1) + "\n", "hash"},
		{"neither response nor error", strings.Replace(line, `"response"`, `"reply"`, 1) + "\n", "either a response or an error"},
		{"both", strings.Replace(line, `"response"`, `"error":{"message":"x"},"response"`, 1) + "\n", "either a response or an error"},
	}
	for _, test := range tests {
		r, err := Read(strings.NewReader(test.text), "run.jsonl", canon(""))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if err == nil && len(r.Jobs()) != strings.Count(test.text, "\n") {
			t.Errorf("%s: jobs %v", test.name, r.Jobs())
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	if _, err := Read(endless('\n'), "run.jsonl", canon("")); err == nil {
		t.Error("read empty lines without end")
	}
	if _, err := Read(endless('x'), "run.jsonl", canon("")); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a line without end: %v", err)
	}
}

// endless gives the same byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestAMissingFile(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), canon("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(line+"\n", "fix", "Go.")
	f.Add(line+"\n"+line+"\n{", "fix", "{{millhand:workspace}}")
	f.Add(strings.Replace(line, `"response":{"text":"yes","finish":"stop"}`, `"error":{"class":"rate","status":429,"message":"no"}`, 1)+"\n", "fix", "")
	f.Add(strings.Replace(line, `"hash"`, `"prompt":"p","tools":["a b"],"messages":-1,"news":"n","hash"`, 1)+"\n", "fix", "x")
	f.Fuzz(func(t *testing.T, text, job, said string) {
		r, err := Read(strings.NewReader(text), "run.jsonl", canon("/w"))
		if err != nil {
			return
		}
		p := r.Player(job)
		before := len(r.left(job))
		if _, err := p.Stream(t.Context(), model.Request{System: said, Messages: []model.Message{{Role: model.User, Text: said}}}, nil); err == nil && len(r.left(job)) != before-1 {
			t.Error("a response that was not recorded")
		}
		if err := p.Finish(); (err == nil) != (len(r.left(job)) == 0) {
			t.Errorf("%d exchanges are left: %v", len(r.left(job)), err)
		}
	})
}
