package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
)

// accumulated feeds pieces, given as lists of one chunk each, and returns the
// calls and what was emitted for each id.
func accumulated(tb testing.TB, earlier map[string]bool, chunks ...[]CallDelta) (made []model.ToolCall, shown map[string]string, ok bool) {
	tb.Helper()
	shown = map[string]string{}
	names := map[string]string{}
	cs := Calls{used: map[string]bool{}, earlier: earlier, emit: func(d model.Delta) {
		if _, begun := shown[d.Call]; begun != (d.Kind == model.InputDelta) || d.Text == "" {
			tb.Errorf("emitted %+v, want the start of the call once, then chunks of its input", d)
		}
		if d.Kind == model.CallDelta {
			shown[d.Call], names[d.Call] = "", d.Text
			return
		}
		shown[d.Call] += d.Text
	}}
	for n, chunks := range chunks {
		for _, p := range chunks {
			p.Chunk = n
			if !cs.Add(p) {
				return nil, nil, false
			}
		}
	}
	made, ok = cs.Finish()
	for _, c := range made {
		if names[c.ID] == "" || !strings.HasPrefix(c.Name, names[c.ID]) {
			tb.Errorf("the call %+v began as one of %q", c, names[c.ID])
		}
	}
	return made, shown, ok
}

// at makes a piece with an index, bare one without.
func at(index int64, id, name, input string) []CallDelta {
	return []CallDelta{{Index: index, ID: id, Name: name, Input: input}}
}

func bare(id, name, input string) []CallDelta { return at(-1, id, name, input) }

// joined puts pieces into one chunk.
func joined(lists ...[]CallDelta) []CallDelta {
	var all []CallDelta
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func TestCallsAreAssembled(t *testing.T) {
	tests := []struct {
		name    string
		earlier []string
		chunks  [][]CallDelta
		want    []model.ToolCall
	}{
		{
			"as the protocol has it",
			nil,
			[][]CallDelta{at(0, "a", "bash", ""), at(0, "", "", `{"x"`), at(0, "", "", `:1}`), at(1, "b", "read", ""), at(1, "", "", `{}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}, {ID: "b", Name: "read", Input: `{}`}},
		},
		{
			"interleaved by index",
			nil,
			[][]CallDelta{joined(at(0, "a", "bash", ""), at(1, "b", "read", "")), at(1, "", "", `{"y"`), at(0, "", "", `{"x"`), at(1, "", "", `:2}`), at(0, "", "", `:1}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}, {ID: "b", Name: "read", Input: `{"y":2}`}},
		},
		{
			"indices in the wrong order",
			nil,
			[][]CallDelta{at(2, "c", "list", `{}`), at(0, "a", "bash", `{}`), at(1, "b", "read", `{}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{}`}, {ID: "b", Name: "read", Input: `{}`}, {ID: "c", Name: "list", Input: `{}`}},
		},
		{
			"index missing, ids differ",
			nil,
			[][]CallDelta{bare("a", "bash", `{"x":`), bare("", "", `1}`), bare("b", "read", `{"y":`), bare("", "", `2}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}, {ID: "b", Name: "read", Input: `{"y":2}`}},
		},
		{
			"index missing, interleaved by id",
			nil,
			[][]CallDelta{bare("a", "bash", `{"x":`), bare("b", "read", `{"y":`), bare("a", "", `1}`), bare("b", "", `2}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}, {ID: "b", Name: "read", Input: `{"y":2}`}},
		},
		{
			"index 0 for all, ids differ",
			nil,
			[][]CallDelta{at(0, "a", "bash", `{"a":1}`), at(0, "b", "read", `{"b":2}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"a":1}`}, {ID: "b", Name: "read", Input: `{"b":2}`}},
		},
		{
			"index 0 for all, interleaved by id",
			nil,
			[][]CallDelta{at(0, "a", "bash", `{"x":`), at(0, "b", "read", `{"y":`), at(0, "a", "", `1}`), at(0, "b", "", `2}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}, {ID: "b", Name: "read", Input: `{"y":2}`}},
		},
		{
			"index 0 for all, no ids, whole calls in chunks of their own",
			nil,
			[][]CallDelta{at(0, "", "bash", `{"a":1}`), at(0, "", "bash", `{"a":2}`), at(0, "", "read", `{}`)},
			[]model.ToolCall{{ID: "call_1", Name: "bash", Input: `{"a":1}`}, {ID: "call_2", Name: "bash", Input: `{"a":2}`}, {ID: "call_3", Name: "read", Input: `{}`}},
		},
		{
			"neither index nor ids, whole calls in one chunk",
			nil,
			[][]CallDelta{joined(bare("", "list", ``), bare("", "list", ``), bare("", "read", `{"y":2}`))},
			[]model.ToolCall{{ID: "call_1", Name: "list"}, {ID: "call_2", Name: "list"}, {ID: "call_3", Name: "read", Input: `{"y":2}`}},
		},
		{
			"the id comes late",
			nil,
			[][]CallDelta{at(0, "", "bash", `{"x"`), at(0, "", "", `:`), at(0, "a", "", `1}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}},
		},
		{
			"the id comes with every piece",
			nil,
			[][]CallDelta{at(0, "a", "bash", `{"x"`), at(0, "a", "", `:`), at(0, "a", "", `1}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}},
		},
		{
			"another id with every piece",
			nil,
			[][]CallDelta{at(0, "r1", "bash", ``), at(0, "r2", "", `{"x"`), at(0, "r3", "", `:1}`), at(0, "r4", "", ``)},
			[]model.ToolCall{{ID: "r1", Name: "bash", Input: `{"x":1}`}},
		},
		{
			"a made id avoids those of the conversation and of the response",
			[]string{"call_1", "call_3"},
			[][]CallDelta{at(0, "call_2", "bash", `{}`), at(1, "", "read", `{}`)},
			[]model.ToolCall{{ID: "call_2", Name: "bash", Input: `{}`}, {ID: "call_4", Name: "read", Input: `{}`}},
		},
		{
			"the name comes late",
			nil,
			[][]CallDelta{at(0, "a", "", ""), at(0, "", "bash", ""), at(0, "", "", `{}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{}`}},
		},
		{
			"the name comes after the arguments",
			nil,
			[][]CallDelta{at(0, "a", "", `{"x":1`), at(0, "", "bash", `}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":1}`}},
		},
		{
			"the name comes with every piece",
			nil,
			[][]CallDelta{at(0, "a", "bash", `{"x":`), at(0, "", "bash", `{"y"`), at(0, "", "bash", `:1}}`), at(0, "", "bash", ``)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{"x":{"y":1}}`}},
		},
		{
			"the name comes in pieces",
			nil,
			[][]CallDelta{at(0, "a", "ba", ""), at(0, "", "sh", ""), at(0, "", "", `{}`)},
			[]model.ToolCall{{ID: "a", Name: "bash", Input: `{}`}},
		},
		{
			"another name is another call",
			nil,
			[][]CallDelta{at(0, "", "bash", `{"a":1}`), at(0, "", "read", `{"b"`), at(0, "", "", `:2}`)},
			[]model.ToolCall{{ID: "call_1", Name: "bash", Input: `{"a":1}`}, {ID: "call_2", Name: "read", Input: `{"b":2}`}},
		},
		{
			"two calls with the same id",
			nil,
			[][]CallDelta{at(0, "x", "bash", `{"a":1}`), at(1, "x", "read", `{"b":`), at(1, "x", "", `2}`)},
			[]model.ToolCall{{ID: "x", Name: "bash", Input: `{"a":1}`}, {ID: "call_1", Name: "read", Input: `{"b":2}`}},
		},
		{
			"two calls with the same id and index",
			nil,
			[][]CallDelta{at(0, "x", "bash", `{"a":1}`), at(0, "x", "bash", `{"a":2}`)},
			[]model.ToolCall{{ID: "x", Name: "bash", Input: `{"a":1}`}, {ID: "call_1", Name: "bash", Input: `{"a":2}`}},
		},
		{
			"a call told again as a whole",
			nil,
			[][]CallDelta{at(0, "x", "bash", `{"a"`), at(0, "", "", `:1}`), at(0, "x", "bash", `{"a":1}`), at(0, "", "", `{"a":1}`)},
			[]model.ToolCall{{ID: "x", Name: "bash", Input: `{"a":1}`}},
		},
		{
			"arguments that are no JSON stay as they are",
			nil,
			[][]CallDelta{at(0, "x", "bash", `{"a":`), at(0, "", "", "\xff\x00")},
			[]model.ToolCall{{ID: "x", Name: "bash", Input: "{\"a\":\xff\x00"}},
		},
		{
			"an empty entry is no call",
			nil,
			[][]CallDelta{at(0, "x", "bash", `{}`), at(1, "", "", ""), bare("", "", ""), at(2, "y", "", "")},
			[]model.ToolCall{{ID: "x", Name: "bash", Input: `{}`}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			earlier := map[string]bool{}
			for _, id := range test.earlier {
				earlier[id] = true
			}
			made, shown, ok := accumulated(t, earlier, test.chunks...)
			if diff := cmp.Diff(test.want, made); diff != "" || !ok {
				t.Errorf("calls, well named %v (-want +got):\n%s", ok, diff)
			}
			for _, c := range made {
				if shown[c.ID] != c.Input {
					t.Errorf("the deltas of %s amount to %q, want %q", c.ID, shown[c.ID], c.Input)
				}
			}
		})
	}
}

func TestACallWithArgumentsNeedsAName(t *testing.T) {
	if made, _, ok := accumulated(t, nil, at(0, "x", "", `{"a":1}`)); ok {
		t.Errorf("got %v, want a refusal", made)
	}
}

func TestTooManyCallsAreRefused(t *testing.T) {
	var chunks [][]CallDelta
	for i := range MaxCalls + 1 {
		chunks = append(chunks, at(int64(i), fmt.Sprint("id", i), "bash", "{}"))
	}
	if _, _, ok := accumulated(t, nil, chunks[:MaxCalls]...); !ok {
		t.Errorf("%d calls were refused", MaxCalls)
	}
	if _, _, ok := accumulated(t, nil, chunks...); ok {
		t.Errorf("%d calls were accepted", MaxCalls+1)
	}
}

// FuzzAccumulate feeds any pieces: nothing may be lost or told twice, and ids
// are unique.
func FuzzAccumulate(f *testing.F) {
	for _, seed := range []string{
		`[[{"I":0,"ID":"a","N":"bash","A":"{"},{"I":1,"ID":"b","N":"read"}],[{"I":0,"A":"}"}]]`,
		`[[{"I":-1,"ID":"a","N":"bash","A":"{}"}],[{"I":-1,"ID":"b","N":"bash","A":"{}"}]]`,
		`[[{"I":0,"N":"bash","A":"{}"}],[{"I":0,"N":"bash","A":"{}"}],[{"I":0,"ID":"call_1"}]]`,
		`[[{"I":0,"ID":"x"}],[{"I":0,"ID":"y","N":"a"}],[{"I":3,"ID":"x","A":"{}"}]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var lists [][]struct {
			I        int64
			ID, N, A string
		}
		if json.Unmarshal(data, &lists) != nil {
			return
		}
		var chunks [][]CallDelta
		sent := 0
		for _, list := range lists {
			var chunk []CallDelta
			for _, p := range list {
				chunk = append(chunk, CallDelta{Index: max(p.I, -1), ID: p.ID, Name: p.N, Input: p.A})
				sent += len(p.A)
			}
			chunks = append(chunks, chunk)
		}
		made, shown, ok := accumulated(t, map[string]bool{"call_2": true}, chunks...)
		if !ok {
			return
		}
		seen, got := map[string]bool{}, 0
		for _, c := range made {
			if c.ID == "" || c.Name == "" || seen[c.ID] {
				t.Errorf("call %+v has no name, no id or one that was used", c)
			}
			seen[c.ID] = true
			got += len(c.Input)
			if shown[c.ID] != c.Input {
				t.Errorf("the deltas of %s amount to %q, want %q", c.ID, shown[c.ID], c.Input)
			}
		}
		if got > sent || got < sent && !strings.Contains(string(data), "}") {
			t.Errorf("%d bytes of arguments came out of %d", got, sent)
		}
	})
}
