package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// wires are those that sessions are held on.
func wires() map[string]provider.Config {
	return map[string]provider.Config{
		"chat":      {Kind: "openai-compatible", Model: "m"},
		"responses": {Kind: "openai-responses", Model: "gpt-5-mini"},
		"messages":  {Kind: "anthropic", Model: "claude-sonnet-4-5"},
	}
}

// endless is a provider's model that works for so many turns, and what it
// holds the requests to.
type endless struct {
	t       *testing.T
	turns   int
	made    int
	sums    int      // summaries
	before  []string // messages of the request before
	fixed   string   // what all requests begin with
	changed bool     // the conversation was shortened since then
}

var marks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

func (e *endless) play(req wiretest.Request) *script.Turn {
	if strings.Contains(req.Messages[0].Content, "You keep the memory") {
		e.sums++
		if bytes.Contains(req.Body, []byte(`"tools"`)) {
			e.t.Errorf("summary %d was asked for with tools", e.sums)
		}
		return &script.Turn{Text: fmt.Sprintf("# Goal\nRead everything.\n\n# Done\n%d turns.", e.made), Finish: model.FinishStop}
	}
	e.check(req)
	e.made++
	if e.made == e.turns {
		return &script.Turn{Text: "Done.", Finish: model.FinishStop}
	}
	turn := &script.Turn{Text: fmt.Sprintf("Turn %d.", e.made), Reasoning: strings.Repeat("Let me think. ", 20), Finish: model.FinishTools}
	for i := range 2 {
		turn.Calls = append(turn.Calls, model.ToolCall{
			ID: fmt.Sprintf("call_%d_%d", e.made, i), Name: "read", Input: fmt.Sprintf(`{"filePath":"f%d.txt","offset":%d}`, (e.made+i)%7, e.made%3+1),
		})
	}
	return turn
}

// check requires a request to start like the one before, unless the conversation
// was shortened.
func (e *endless) check(req wiretest.Request) {
	var body struct {
		Messages, Input                    []json.RawMessage
		Model, Instructions, System, Tools json.RawMessage
	}
	if err := json.Unmarshal(req.Body, &body); err != nil {
		e.t.Fatal(err)
	}
	var list []string
	for _, m := range append(body.Messages, body.Input...) {
		if bytes.Contains(m, []byte(`"cache_control"`)) {
			m = marks.ReplaceAll(m, nil)
		}
		list = append(list, string(m))
	}
	fixed := string(body.Model) + string(body.Instructions) + string(body.System) + string(body.Tools)
	if e.fixed != "" && fixed != e.fixed {
		e.t.Errorf("turn %d: the system prompt or the tools are others than before", e.made)
	}
	if !e.changed {
		for i, m := range e.before {
			if i >= len(list) || list[i] != m {
				e.t.Fatalf("turn %d: message %d of %d is not that of the request before:\n%.300s\n%.300s", e.made, i, len(list), list[min(i, len(list)-1)], m)
			}
		}
	}
	look := e.changed || e.made%20 == 0
	e.before, e.fixed, e.changed = list, fixed, false
	if look {
		e.checkCalls(list)
	}
}

// checkCalls requires a conversation to have a result for every call, and a call for
// every result.
func (e *endless) checkCalls(list []string) {
	open := map[string]bool{}
	for _, id := range regexp.MustCompile(`"(?:id|call_id|tool_call_id|tool_use_id)":"(call_\d+_\d)"`).FindAllStringSubmatch(strings.Join(list, "\n"), -1) {
		open[id[1]] = !open[id[1]] // a call and its result
	}
	for id, odd := range open {
		if odd {
			e.t.Fatalf("turn %d: call %s without its result, or the other way round", e.made, id)
		}
	}
}

func TestLongSessionStaysWithinWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	const window = 128_000
	for name, conf := range wires() {
		t.Run(name, func(t *testing.T) {
			turns := nightly.Count(170, 200, 200)
			if name == "chat" {
				turns = nightly.Count(360, 500, 500) // with its tools, after 200 nothing need have been compacted yet
			}
			e := &endless{t: t, turns: turns}
			server := wiretest.New(nil)
			server.Play, server.Window = e.play, window
			conf.BaseURL = wiretest.Serve(t, server)
			m, err := provider.Open(conf)
			if err != nil {
				t.Fatal(err)
			}
			var prunes, compactions []int // the turns they came at
			most := 0
			st := setUp(t, "readonly", "  - text: unused\n", func(c *Config) {
				c.Model, c.Window, c.MaxOutput = m, window, 16_000
				c.Emit = func(ev event.Event) {
					switch ev.Type {
					case event.Pruned:
						e.changed, prunes = true, append(prunes, e.made)
					case event.Compacted:
						e.changed, compactions = true, append(compactions, e.made)
						if c := ev.Compaction; c.Turn == 0 || c.Messages == 0 || c.NoSummary || c.After >= c.Before || c.Reason != event.WindowFull {
							t.Errorf("%+v", c)
						}
					default: // no other event is about room
					}
				}
			})
			for i := range 7 {
				text := strings.Repeat(fmt.Sprintf("line of the file %d, which is as long as lines are\n", i), 120)
				if err := os.WriteFile(filepath.Join(st.dir, fmt.Sprintf("f%d.txt", i)), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			end := st.Run(t.Context(), "Read everything.")
			if !end.Done() || e.made != turns {
				t.Fatalf("after %d turns: %+v", e.made, end)
			}
			for _, m := range st.talk.messages {
				most += len(m.Text) + len(m.Reasoning)
			}
			if total := st.Totals(); total.Turns != turns+e.sums || e.sums != len(compactions) || total.Usage.Input != server.Usage().Input {
				t.Errorf("%+v with %d summaries, %d compactions; the server counted %+v", total, e.sums, len(compactions), server.Usage())
			}
			if len(prunes) == 0 || len(compactions) == 0 || len(prunes)+len(compactions) > turns/10 {
				t.Errorf("pruned after %v, compacted after %v: want some of each, and seldom", prunes, compactions)
			}
			runtime.GC()
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			t.Logf("pruned after %v, compacted after %v; %d bytes in %d messages, heap %d KiB", prunes, compactions, most, len(st.talk.messages), mem.HeapAlloc>>10)
			if most > 4*window {
				t.Errorf("the conversation still has %d bytes", most)
			}
		})
	}
}
