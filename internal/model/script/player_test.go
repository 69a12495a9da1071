package script

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

func player(t *testing.T, text, agent string) *Player {
	t.Helper()
	p, err := parsed(t, text).Player(agent)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func prompt(text string) model.Request {
	return model.Request{System: "system", Messages: []model.Message{{Role: model.User, Text: text}}}
}

func TestPlayerPlaysTurnsInOrder(t *testing.T) {
	p := player(t, contracted, "")
	var deltas []model.Delta
	first, err := p.Stream(t.Context(), prompt("go"), func(d model.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := model.Response{
		Text: "Let me look.", Finish: model.FinishTools, Usage: &money.Usage{Input: 1200, Output: 80, CacheRead: 1000},
		Calls: []model.ToolCall{{ID: "call_1_1", Name: "grep", Input: `{"pattern":"func Total"}`}, {ID: "call_1_2", Name: "read", Input: `{"filePath":"cart.go"}`}},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	chunks := map[string]string{}
	for _, d := range deltas {
		chunks[string(d.Kind)+" "+d.Call] += d.Text
	}
	wantPieces := map[string]string{"text ": want.Text, "tool_call call_1_1": "grep", "tool_call call_1_2": "read", "tool_input call_1_1": want.Calls[0].Input, "tool_input call_1_2": want.Calls[1].Input}
	if diff := cmp.Diff(wantPieces, chunks); diff != "" || len(deltas) < 6 {
		t.Errorf("%d deltas (-want +got):\n%s", len(deltas), diff)
	}

	if err := p.Finish(); model.ClassOf(err) != model.ClassScript || !strings.Contains(err.Error(), "s.yaml:8: turn 2 was not used") {
		t.Errorf("two turns unused: %v", err)
	}
	results := []model.Message{
		{Role: model.User, Text: "go"},
		{Role: model.Assistant, Calls: want.Calls},
		{Role: model.ToolRole, Text: "cart.go:12: func Total"},
		{Role: model.ToolRole, Text: "FAIL"},
	}
	second, err := p.Stream(t.Context(), model.Request{Messages: results}, nil)
	if diff := cmp.Diff(&money.Usage{}, second.Usage); err != nil || diff != "" {
		t.Errorf("error %v, usage of a turn that states none (-want +got):\n%s", err, diff)
	}
	if _, err := p.Stream(t.Context(), prompt("go"), nil); err != nil {
		t.Error(err)
	}
	if err := p.Finish(); err != nil {
		t.Error(err)
	}
	_, err = p.Stream(t.Context(), prompt("one more"), nil)
	if model.ClassOf(err) != model.ClassScript || !strings.Contains(err.Error(), "unexpected request 4") || !strings.Contains(err.Error(), "one more") {
		t.Errorf("a request after the last turn gives %v", err)
	}
}

func TestPlayerOfSubagent(t *testing.T) {
	p := player(t, contracted, "explore")
	if resp, err := p.Stream(t.Context(), prompt("look"), nil); err != nil || resp.Text != "Nothing found." {
		t.Errorf("got %+v and error %v", resp, err)
	}
	if _, err := parsed(t, contracted).Player("plan"); err == nil {
		t.Error("an agent without turns has a player")
	}
}

func TestPlayersOfOneScriptAreIndependent(t *testing.T) {
	s := parsed(t, contracted)
	for range 2 {
		p, err := s.Player("")
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.Stream(t.Context(), prompt("go"), nil)
		if err != nil || resp.Text != "Let me look." {
			t.Errorf("got %+v and error %v", resp, err)
		}
		resp.Calls[0].Name = "changed"
		resp.Usage.Input = 0
	}
}

func TestAFailedExpectationNamesItsTurn(t *testing.T) {
	user, assistant, tool := model.User, model.Assistant, model.ToolRole
	message := func(role model.Role, text string) model.Message { return model.Message{Role: role, Text: text} }
	tests := []struct {
		name     string
		expect   string
		messages []model.Message
		met      bool
	}{
		{"in the prompt", `["cart"]`, []model.Message{message(user, "fix the cart")}, true},
		{"in a result", `["FAIL"]`, []model.Message{message(user, "x"), message(assistant, ""), message(tool, "ok"), message(tool, "--- FAIL")}, true},
		{"each in another result", `["^a", "b$"]`, []model.Message{message(assistant, ""), message(tool, "a1"), message(tool, "1b")}, true},
		{"in a prompt after results", `["go on"]`, []model.Message{message(assistant, ""), message(tool, "x"), message(user, "go on")}, true},
		{"only one of two", `["a1", "missing"]`, []model.Message{message(tool, "a1")}, false},
		{"only before the last turn", `["cart"]`, []model.Message{message(user, "cart"), message(assistant, ""), message(tool, "x")}, false},
		{"only in the model's own words", `["cart"]`, []model.Message{message(assistant, "cart"), message(tool, "x")}, false},
		{"nothing came", `["."]`, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := player(t, "version: 1\nturns:\n  - {text: x, expect: "+test.expect+"}", "")
			_, err := p.Stream(t.Context(), model.Request{System: "system missing cart", Messages: test.messages}, nil)
			if test.met {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if model.ClassOf(err) != model.ClassScript || !strings.Contains(err.Error(), "s.yaml:3: turn 1 expects") {
				t.Errorf("got %v, want a failure that names the turn", err)
			}
		})
	}
}

func TestAnExpectationQuotesABoundedExcerpt(t *testing.T) {
	p := player(t, "version: 1\nturns: [{text: x, expect: [zzz]}]", "")
	_, err := p.Stream(t.Context(), prompt("begin"+strings.Repeat("é", 1<<20)+"end"), nil)
	if s := err.Error(); len(s) > 8000 || !strings.Contains(s, "begin") || !strings.Contains(s, "end") {
		t.Errorf("the error has %d bytes: %.300s", len(s), s)
	}
}

func TestAnErrorTurnFailsItsRequestOnly(t *testing.T) {
	p := player(t, "version: 1\nturns: [{error: {status: 503, message: down}}, {text: up}]", "")
	if _, err := p.Stream(t.Context(), prompt("go"), nil); model.ClassOf(err) != model.ClassUnavailable || !strings.Contains(err.Error(), "down") {
		t.Errorf("got %v", err)
	}
	if resp, err := p.Stream(t.Context(), prompt("go"), nil); err != nil || resp.Text != "up" {
		t.Errorf("got %+v and error %v", resp, err)
	}
}

func TestADelayEndsWithTheContext(t *testing.T) {
	reason := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := player(t, "version: 1\nturns: [{text: x, delay: 1ns}, {text: y, delay: 24h}]", "")
	if resp, err := p.Stream(ctx, prompt("go"), nil); err != nil || resp.Text != "x" {
		t.Errorf("got %+v and error %v", resp, err)
	}
	failed := make(chan error)
	go func() {
		_, err := p.Stream(ctx, prompt("go"), nil)
		failed <- err
	}()
	cancel(reason)
	if err := <-failed; !errors.Is(err, reason) || model.ClassOf(err) != "" {
		t.Errorf("got %v, want the cause alone", err)
	}
}

func TestChunksAreFewAndComplete(t *testing.T) {
	for _, s := range []string{"", "a", "ab", "abc", "näher", strings.Repeat("合", 100), "\xff\xfe\xfd\x80\x80\x80", strings.Repeat("\x80", 50)} {
		got := chunks(s)
		if strings.Join(got, "") != s || len(got) > 3 {
			t.Errorf("%q is cut into %q", s, got)
		}
	}
}
