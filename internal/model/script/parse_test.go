package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// contracted is the example that users see.
const contracted = `version: 1
turns:
  - text: Let me look.             # text, calls or both; a turn without calls ends the attempt
    calls:
      - {tool: grep, args: {pattern: "func Total"}}
      - {tool: read, args: {filePath: "cart.go"}}
    usage: {input: 1200, output: 80, cache_read: 1000}
  - expect: ["cart\\.go:12", "FAIL"]
    calls: [{tool: edit, args: {filePath: cart.go, oldString: "a", newString: "b"}}]
  - text: Done.
agents:
  explore: {turns: [{text: Nothing found.}]}
`

func parsed(tb testing.TB, text string) *Script {
	tb.Helper()
	s, err := Parse([]byte(text), "s.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func turnsOf(tb testing.TB, s *Script, agent string) []Turn {
	tb.Helper()
	turns, err := s.Turns(agent)
	if err != nil {
		tb.Fatal(err)
	}
	return turns
}

func TestTurnsHaveTheirCallsAndLines(t *testing.T) {
	s := parsed(t, contracted)
	want := []Turn{
		{
			Number: 1, Source: "s.yaml:3", Text: "Let me look.", Finish: model.FinishTools,
			Calls: []model.ToolCall{
				{ID: "call_1_1", Name: "grep", Input: `{"pattern":"func Total"}`},
				{ID: "call_1_2", Name: "read", Input: `{"filePath":"cart.go"}`},
			},
			Usage: &money.Usage{Input: 1200, Output: 80, CacheRead: 1000},
		},
		{
			Number: 2, Source: "s.yaml:8", Finish: model.FinishTools,
			Calls: []model.ToolCall{{ID: "call_2_1", Name: "edit", Input: `{"filePath":"cart.go","oldString":"a","newString":"b"}`}},
		},
		{Number: 3, Source: "s.yaml:10", Text: "Done.", Finish: model.FinishStop},
	}
	got := turnsOf(t, s, "")
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Turn{}, "Expect")); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`[cart\.go:12 FAIL]`, fmt.Sprint(got[1].Expect)); diff != "" {
		t.Errorf("expectations (-want +got):\n%s", diff)
	}
	if explore := turnsOf(t, s, "explore"); len(explore) != 1 || explore[0].Text != "Nothing found." {
		t.Errorf("explore has %+v", explore)
	}
	if _, err := s.Turns("plan"); err == nil || !strings.Contains(err.Error(), `"plan" (it has: explore)`) {
		t.Errorf("an unknown agent gives %v", err)
	}
}

func TestTurnsHaveReasoningDelaysAndRawCalls(t *testing.T) {
	got := turnsOf(t, parsed(t, `version: 1
turns:
  - reasoning: Hm.
    text: ""
    finish: length
    delay: 1m30s
    usage: {input: 1, output: 2, reasoning: 3, cache_read: 4, cache_write: 5}
    calls: [{tool: bash, raw: '{"command": "ec'}, {tool: list}]
`), "")[0]
	want := Turn{
		Number: 1, Source: "s.yaml:3", Reasoning: "Hm.", Finish: model.FinishLength, Delay: 90 * time.Second,
		Usage: &money.Usage{Input: 1, Output: 2, Reasoning: 3, CacheRead: 4, CacheWrite: 5},
		Calls: []model.ToolCall{{ID: "call_1_1", Name: "bash", Input: `{"command": "ec`}, {ID: "call_1_2", Name: "list", Input: "{}"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
}

func TestAScriptedErrorHasItsClass(t *testing.T) {
	tests := []struct {
		text string
		want model.Error
	}{
		{"{status: 429, message: slow down, retry_after: 2s}", model.Error{Class: model.ClassRate, Status: 429, RetryAfter: 2 * time.Second, Err: errors.New("slow down")}},
		{"{status: 529}", model.Error{Class: model.ClassUnavailable, Status: 529, RetryAfter: -1}},
		{"{status: 418}", model.Error{Class: model.ClassRequest, Status: 418, RetryAfter: -1}},
		{"{status: 400, class: context}", model.Error{Class: model.ClassContext, Status: 400, RetryAfter: -1}},
		{"{class: auth}", model.Error{Class: model.ClassAuth, Status: 401, RetryAfter: -1}},
		{"{class: unavailable, retry_after: 0s}", model.Error{Class: model.ClassUnavailable, Status: 503}},
		{"{class: protocol}", model.Error{Class: model.ClassProtocol, RetryAfter: -1}},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got := turnsOf(t, parsed(t, "version: 1\nturns: [{error: "+test.text+"}]"), "")[0].Error
			if test.want.Err == nil {
				test.want.Err = errors.New("a scripted failure")
			}
			if diff := cmp.Diff(test.want.Error(), got.Error()); diff != "" || got.RetryAfter != test.want.RetryAfter {
				t.Errorf("retry after %v, text (-want +got):\n%s", got.RetryAfter, diff)
			}
		})
	}
}

func TestArgumentsKeepTheirOrderAndKinds(t *testing.T) {
	tests := map[string]string{
		`{z: 1, a: 2, m: {y: [], x: {}}}`:                       `{"z":1,"a":2,"m":{"y":[],"x":{}}}`,
		`{s: "1", t: 'true', u: <a&b>, v: "\"\\\n\u0000é"}`:     `{"s":"1","t":"true","u":"<a&b>","v":"\"\\\n\u0000é"}`,
		`{i: 12, n: -3, h: 0x1F, f: 1.5, e: 1e3, b: true}`:      `{"i":12,"n":-3,"h":31,"f":1.5,"e":1000,"b":true}`,
		`{big: 18446744073709551615, null: null, t: ~}`:         `{"big":18446744073709551615,"null":null,"t":null}`,
		`{date: 2026-01-02, yes: yes, 3: three, tag: !!str 12}`: `{"date":"2026-01-02","yes":"yes","3":"three","tag":"12"}`,
		`{a: &x [1, {b: 2}], c: *x, d: *x}`:                     `{"a":[1,{"b":2}],"c":[1,{"b":2}],"d":[1,{"b":2}]}`,
	}
	for args, want := range tests {
		got := turnsOf(t, parsed(t, "version: 1\nturns: [{calls: [{tool: x, args: "+args+"}]}]"), "")[0].Calls[0].Input
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s gives %s, want %s", args, got, want)
		}
	}
}

func TestScriptsThatAreWrong(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("version: 1\nx: [&a [1,1,1,1,1,1,1,1,1,1]")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&bomb, ", &%c [%s]", c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	bomb.WriteString("]\n")
	one := func(turn string) string { return "version: 1\nturns:\n  - " + turn + "\n" }
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"empty", "", []string{"s.yaml: the script is empty"}},
		{"a comment", "# nothing\n", []string{"s.yaml: the script is empty"}},
		{"no YAML", "turns: [", []string{"s.yaml: read the script: yaml: line 1"}},
		{"a list", "- 1", []string{"s.yaml:1:1: a script must be a mapping"}},
		{"two documents", contracted + "---\nversion: 1\n", []string{"more than one YAML document"}},
		{"no version", "turns: [{text: x}]", []string{"write version: 1"}},
		{"another version", "version: 2\nturns: [{text: x}]", []string{"write version: 1"}},
		{"a version that is no number", "version: one\nturns: [{text: x}]", []string{"s.yaml:1:10: version must be a whole number"}},
		{"no turns", "version: 1", []string{"has no turns"}},
		{"an empty list of turns", "version: 1\nturns: []", []string{"s.yaml:2:8: turns must be a non-empty list"}},
		{"turns that are no list", "version: 1\nturns: {text: x}", []string{"s.yaml:2:8: turns must be a non-empty list"}},
		{"an unknown key", "version: 1\nturn: []\nturns: [{text: x}]", []string{`s.yaml:2:1: unknown key "turn" in a script; it can have: agents, turns, version`}},
		{"a key that stands twice", "version: 1\nversion: 1\nturns: [{text: x}]", []string{`s.yaml:2:1: "version" stands twice`}},
		{"a key that is a list", "version: 1\n? [a]\n: 1\nturns: [{text: x}]", []string{"must be a word"}},
		{"a turn that is a word", one("hello"), []string{"s.yaml:3:5: a turn must be a mapping"}},
		{"a turn without an answer", one("usage: {input: 1}"), []string{"s.yaml:3:5: a turn has text, calls or both"}},
		{"an answer and an error", one("{text: x, error: {status: 500}}"), []string{"or else an error"}},
		{"a text that is a number", one("text: 12"), []string{"s.yaml:3:11: text must be a string; quote"}},
		{"a text that is null", one("text:"), []string{"text must be a string"}},
		{"an unknown key of a turn", one("{text: x, say: y}"), []string{`s.yaml:3:15: unknown key "say" in a turn`}},
		{"an expectation that is no expression", one(`{text: x, expect: ["("]}`), []string{"s.yaml:3:24: an expectation is a regular expression: error parsing regexp"}},
		{"an expectation that is no list", one(`{text: x, expect: y}`), []string{"expect must be a non-empty list"}},
		{"a call without a tool", one("calls: [{args: {}}]"), []string{"s.yaml:3:13: a call needs a tool"}},
		{"a call with args and raw", one("calls: [{tool: x, args: {}, raw: ''}]"), []string{"args or raw, not both"}},
		{"args that are a list", one("calls: [{tool: x, args: [1]}]"), []string{"s.yaml:3:29: args must be a mapping"}},
		{"args with a key twice", one("calls: [{tool: x, args: {a: 1, a: 2}}]"), []string{`"a" stands twice in args`}},
		{"args with a merge", one("calls: [{tool: x, args: {<<: {a: 1}}}]"), []string{"merge keys are not supported"}},
		{"args with infinity", one("calls: [{tool: x, args: {a: .inf}}]"), []string{"JSON knows no such number as .inf"}},
		{"args with a tag", one("calls: [{tool: x, args: {a: !mine 1}}]"), []string{"the tag !mine is not known"}},
		{"a negative count", one("{text: x, usage: {input: -1}}"), []string{"s.yaml:3:30: input must be a whole number"}},
		{"an unknown count", one("{text: x, usage: {total: 1}}"), []string{`unknown key "total" in usage`}},
		{"a delay without a unit", one("{text: x, delay: 5}"), []string{"delay must be a string", "delay must be a duration"}},
		{"a negative delay", one("{text: x, delay: -5s}"), []string{"delay must be a duration"}},
		{"an unknown finish", one("{text: x, finish: done}"), []string{`finish "done" is not known; it can be: stop, tool_calls, length`}},
		{"an error without a kind", one("error: {message: x}"), []string{"an error needs a class or a status"}},
		{"an error of an unknown class", one("error: {class: bad}"), []string{`class "bad" is not known; it can be: auth, model, request`}},
		{"an invalid error status", one("error: {status: 200}"), []string{"between 400 and 599"}},
		{"an agent without turns", one("text: x") + "agents: {plan: {}}", []string{`s.yaml:4:10: agent "plan" has no turns`}},
		{"an agent with another key", one("text: x") + "agents: {plan: {turn: []}}", []string{`unknown key "turn" in an agent`}},
		{"an alias that explodes", bomb.String(), []string{"grows beyond"}},
		{"an alias in itself", one("calls: [{tool: x, args: &a {a: *a}}]"), []string{"contains itself"}},
		{"all problems at once", "version: x\nturns: [{txt: 1}, {text: 2}]", []string{"s.yaml:1:10:", "s.yaml:2:10:", "s.yaml:2:26:"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Parse([]byte(test.text), "s.yaml")
			if err == nil {
				t.Fatalf("it is taken: %+v", s)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// FuzzParse reads any script: it is refused with the file's name, or has turns
// that can be played, whose arguments are JSON unless they are raw.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		contracted, "version: 1\nturns: [{error: {status: 429}}]",
		"version: 1\nturns: [{calls: [{tool: x, args: &a {b: [1.5, ~, 2026-01-01, !!binary aGk=], c: 0o17}}, {tool: y, args: *a}]}]",
		"version: 1\nturns: [{text: x, delay: 1h, finish: length, expect: [a+]}]\nagents: {a: {turns: [{text: y}]}}", "? a\n: b", "&a [*a]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, "s.yaml")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Errorf("error %v does not name the file", err)
			}
			return
		}
		lists := [][]Turn{turnsOf(t, s, "")}
		for _, agent := range s.Agents() {
			lists = append(lists, turnsOf(t, s, agent))
		}
		for _, turns := range lists {
			if len(turns) == 0 {
				t.Error("there are no turns")
			}
			for _, turn := range turns {
				for _, c := range turn.Calls {
					if !json.Valid([]byte(c.Input)) && !strings.Contains(string(data), "raw") {
						t.Errorf("the arguments are no JSON: %s", c.Input)
					}
				}
			}
		}
	})
}
