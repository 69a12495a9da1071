package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// talker is a model with the same response to everything.
type talker struct {
	text  string
	asked []model.Request
}

func (m *talker) Stream(_ context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	m.asked = append(m.asked, req)
	return model.Response{Text: m.text, Finish: model.FinishStop, Usage: &money.Usage{Input: 10, Output: 1}}, nil
}

// randomConversation makes one of so many turns, as a model and its tools might.
func randomConversation(r *rand.Rand, turns int) []model.Message {
	list := []model.Message{{Role: model.User, Text: "the task"}}
	for n := range turns {
		said := model.Message{Role: model.Assistant, Text: strings.Repeat("word ", r.IntN(50)), State: &model.State{Wire: "w", Data: []byte(`{}`)}}
		for i := range r.IntN(5) {
			said.Calls = append(said.Calls, model.ToolCall{ID: fmt.Sprintf("c%d.%d", n, i), Name: "read", Input: strings.Repeat("x", r.IntN(200))})
		}
		list = append(list, said)
		for _, c := range said.Calls {
			m := model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: strings.Repeat("line\n", r.IntN(4000))}
			if r.IntN(20) == 0 {
				m.Attachments = []model.Attachment{{Name: "a.png", MIME: "image/png", Data: []byte("x")}}
			}
			list = append(list, m)
		}
		if len(said.Calls) == 0 {
			list = append(list, model.Message{Role: model.User, Text: strings.Repeat("go on ", r.IntN(100))})
		}
	}
	return list
}

// intact reports an error in a conversation: every call must have its result
// directly after it, and every result its call.
func intact(list []model.Message) error {
	if len(list) == 0 || list[0].Role != model.User {
		return errors.New("it does not begin with the user's words")
	}
	var due []string
	for i, m := range list {
		switch m.Role {
		case model.ToolRole:
			if len(due) == 0 || due[0] != m.CallID {
				return fmt.Errorf("message %d answers %s; due are %v", i, m.CallID, due)
			}
			due = due[1:]
		default:
			if len(due) > 0 {
				return fmt.Errorf("message %d comes while %v are not answered", i, due)
			}
			for _, c := range m.Calls {
				due = append(due, c.ID)
			}
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("%v are not answered", due)
	}
	return nil
}

func TestPruningKeepsCallsWithResults(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	seen := map[event.Type]int{}
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &talker{text: "the summary"}
		s := setUp(t, "readonly", "  - text: unused\n", func(c *Config) {
			c.Model, c.Window, c.MaxOutput = m, []int{8_000, 32_000, 128_000}[r.IntN(3)], 16_000
			c.Emit = func(e event.Event) { seen[e.Type]++ }
		})
		s.talk.messages = randomConversation(r, 1+r.IntN(60))
		if n := r.IntN(len(s.talk.messages)); n > 0 { // the provider has counted some of them, at 4 bytes a token
			s.talk.counted, s.talk.countedTo = (s.talk.fixed+tokensOf(s.talk.messages[:n]))*3/4, n
		}
		if len(s.talk.messages) > 1 && s.talk.messages[len(s.talk.messages)-1].Role == model.Assistant {
			s.talk.messages = append(s.talk.messages, model.Message{Role: model.User, Text: "go on"})
		}
		last := s.talk.messages[s.talk.lastResponse()]
		for range 3 {
			if _, end := s.makeRoom(t.Context()); end != nil {
				t.Fatalf("seed %d: %+v", seed, end)
			}
			if err := intact(s.talk.messages); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if got := s.talk.messages[s.talk.lastResponse()]; got.Text != last.Text || len(got.Calls) != len(last.Calls) || got.State != last.State {
			t.Fatalf("seed %d: the model's last message is missing", seed)
		}
		for _, m := range s.talk.messages[s.talk.lastResponse()+1:] {
			if m.Text == pruned {
				t.Fatalf("seed %d: a result was removed before the model saw it", seed)
			}
		}
		if s.talk.estimate() > int64(s.cfg.Window) {
			t.Errorf("seed %d: still %d tokens in a window of %d, %d messages", seed, s.talk.estimate(), s.cfg.Window, len(s.talk.messages))
		}
		if len(m.asked) > 1 {
			t.Errorf("seed %d: summed up %d times without a turn between", seed, len(m.asked))
		}
		for _, req := range m.asked {
			if size := tokens(len(req.System)) + tokensOf(req.Messages) + int64(req.MaxOutput); len(req.Tools) > 0 || size > int64(s.cfg.Window) {
				t.Errorf("seed %d: the summary has %d tokens, the window %d", seed, size, s.cfg.Window)
			}
		}
	}
	if seen[event.Pruned] < 10 || seen[event.Compacted] < 10 {
		t.Errorf("the test hardly tests anything: %v", seen)
	}
}

// reading is turns of a script that read a file so often, from another line each time.
func reading(times int) string {
	var b strings.Builder
	for i := range times {
		fmt.Fprintf(&b, "  - {calls: [{tool: read, args: {filePath: big, offset: %d}}], usage: {input: 100, output: 10}}\n", i+1)
	}
	return b.String()
}

func TestRefusedConversationIsCompactedOnce(t *testing.T) {
	const refusal = "  - error: {class: context, message: too long}\n"
	tests := []struct {
		name, turns string
		want        event.Code
		text        string
		compactions int
		maxExcerpt  bool
	}{
		{"then it goes on", reading(4) + refusal + `
  - {expect: ["result of read", "read it all"], text: I have read a lot., usage: {input: 50, output: 5}}
  - {expect: ["a line"], text: Done.}
`, "", "Done.", 1, false},
		{"refused again", reading(4) + refusal + "  - text: A summary.\n" + refusal, event.CodeContext, "exceeds the context window", 1, false},
		{"once for each request", reading(4) + refusal + "  - text: One.\n" + reading(3) + refusal + "  - {expect: [One], text: Two.}\n  - text: Done.\n", "", "Done.", 2, false},
		{"without a summary", reading(4) + refusal + "  - text: ''\n  - text: Done.\n", "", "Done.", 1, true},
		{"the summary is refused, too", reading(4) + refusal + refusal, event.CodeContext, "exceeds the context window", 0, false},
		{"there is nothing to sum up", refusal, event.CodeContext, "exceeds the context window", 0, false},
		{"the summary fails", reading(4) + refusal + "  - error: {class: auth, message: no}\n", event.CodeAuth, "no", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "readonly", tt.turns, nil)
			if err := os.WriteFile(filepath.Join(s.dir, "big"), []byte(strings.Repeat("a line\n", 1000)), 0o644); err != nil {
				t.Fatal(err)
			}
			end := s.Run(t.Context(), "read it all")
			if end.Code != tt.want || !strings.Contains(end.Text+end.Reason, tt.text) {
				t.Errorf("%+v", end)
			}
			if err := s.player.Finish(); err != nil {
				t.Error(err)
			}
			if err := intact(s.talk.messages); err != nil && end.Done() {
				t.Error(err)
			}
			made := 0
			for _, e := range s.events {
				if c := e.Compaction; c != nil {
					made++
					if c.Reason != event.WindowRefused || c.NoSummary != tt.maxExcerpt {
						t.Errorf("%+v", c)
					}
				}
			}
			if made != tt.compactions {
				t.Errorf("compacted %d times, want %d", made, tt.compactions)
			}
		})
	}
}

func TestRefusedAttachmentsAreRemoved(t *testing.T) {
	const (
		refusal  = "  - error: {class: request, message: no images here}\n"
		tooLarge = "  - error: {class: context, message: request too large}\n"
		look     = "  - {calls: [{tool: read, args: {filePath: a.png}}]}\n"
		lookNext = "  - {calls: [{tool: read, args: {filePath: b.png}}]}\n"
		removed  = "the attachment %s, so it was removed"
	)
	without := func(name string) string { return fmt.Sprintf(removed, name) }
	tests := []struct {
		name, turns string
		want        event.Code
		left        int      // attachments in the conversation at its end
		warnings    []string // parts of them
	}{
		{"the last one", look + lookNext + refusal + "  - {expect: [" + `"` + without("b.png") + `"` + "], text: Done.}\n", "", 1, []string{"without its attachments (b.png): model request failed (request, HTTP 400): no images here"}},
		{"all of them", look + lookNext + refusal + refusal + "  - text: Done.\n", "", 0, []string{"(b.png)", "(a.png)"}},
		{"for another reason", look + refusal + refusal, event.CodeRequest, 0, []string{"(a.png)"}},
		{"too large, as results are shortened", look + tooLarge + "  - text: Done.\n", "", 0, nil},
		{"of two requests", look + refusal + lookNext + refusal + "  - text: Done.\n", "", 0, []string{"(a.png)", "(b.png)"}},
		{"without any", refusal, event.CodeRequest, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "readonly", tt.turns, func(c *Config) { c.Env.Accepts.Images = true })
			for _, name := range []string{"a.png", "b.png"} {
				if err := os.WriteFile(filepath.Join(s.dir, name), []byte("\x89PNG\r\n\x1a\n..."), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if end := s.Run(t.Context(), "look"); end.Code != tt.want {
				t.Errorf("%+v", end)
			}
			if err := s.player.Finish(); err != nil {
				t.Error(err)
			}
			left := 0
			for _, m := range s.talk.messages {
				left += len(m.Attachments)
			}
			if left != tt.left {
				t.Errorf("%d attachments left, want %d", left, tt.left)
			}
			var said []string
			for _, e := range s.events {
				if e.Warning != nil {
					said = append(said, e.Warning.Message)
				}
			}
			if !slices.EqualFunc(said, tt.warnings, strings.Contains) {
				t.Errorf("warnings %q", said)
			}
		})
	}
}

// A compaction is a model call: it counts, it is paid for, and limits come first.
func TestCompactionIsCharged(t *testing.T) {
	var charged money.USD                               // a nano-dollar for each request
	talk := "text: " + strings.Repeat("I go on. ", 300) // which is not removed
	turns := strings.ReplaceAll(reading(30), "usage: {input: 100, output: 10}", talk)
	s := setUp(t, "readonly", turns+"  - text: Done.\n", func(c *Config) {
		c.Window, c.Limits.Turns = 30_000, 200
		player := c.Model
		c.Model = summing{player, "summed up"}
		run := money.NewBudget("run budget", money.Dollar, time.Now, func(usd money.USD) { charged = usd })
		tooLong := money.Tier{From: int64(c.Window), Rates: money.Rates{Input: money.Dollar}}
		c.Budget = run.Session("m", money.Quotes{{Schedule: money.Schedule{{Price: money.Price{Rates: money.Rates{Input: 1}, Tiers: []money.Tier{tooLong}}}}}})
	})
	if err := os.WriteFile(filepath.Join(s.dir, "big"), []byte(strings.Repeat("a line of which there are many in this file\n", 800)), 0o644); err != nil {
		t.Fatal(err)
	}
	if end := s.Run(t.Context(), "read it all"); !end.Done() {
		t.Fatalf("%+v", end)
	}
	compactions := 0
	for _, e := range s.events {
		if e.Compaction != nil {
			compactions++
		}
	}
	if total := s.Totals(); compactions == 0 || total.Turns != 31+compactions || charged != money.USD(total.Turns) || total.Usage.Input != int64(7*compactions) {
		t.Errorf("%d compactions, %d requests paid for, %+v", compactions, charged, total)
	}
}

// summing is a scripted model that also sums up.
type summing struct {
	model.Model
	summary string
}

func (m summing) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if req.System == summarySystem {
		return model.Response{Text: m.summary, Finish: model.FinishStop, Usage: &money.Usage{Input: 7, Output: 1}}, nil
	}
	return m.Model.Stream(ctx, req, emit)
}

func TestOnlyOldResultsAreRemovedAndSkillsStay(t *testing.T) {
	s := setUp(t, "readonly", "  - text: unused\n", func(c *Config) { c.Window, c.MaxOutput = 128_000, 16_000 })
	s.talk.messages = []model.Message{{Role: model.User, Text: "the task"}}
	turn := func(tool string, results, size int) {
		said := model.Message{Role: model.Assistant}
		for i := range results {
			said.Calls = append(said.Calls, model.ToolCall{ID: fmt.Sprintf("c%d.%d", len(s.talk.messages), i), Name: tool, Input: "{}"})
		}
		s.talk.messages = append(s.talk.messages, said)
		for _, c := range said.Calls {
			s.talk.messages = append(s.talk.messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: tool, Text: strings.Repeat("x", size)})
		}
	}
	turn("Skill", 1, 30_000)
	turn("read", 5, 40_000)
	turn("read", 4, 30_000) // more than what is never removed, and not seen yet
	called, end := s.makeRoom(t.Context())
	if called || end != nil {
		t.Fatalf("a model was called: %+v", end)
	}
	var gone []string
	for _, m := range s.talk.messages {
		if m.Text == pruned {
			gone = append(gone, m.CallID)
		}
	}
	if got := strings.Join(gone, " "); got != "c3.0 c3.1 c3.2 c3.3 c3.4" {
		t.Errorf("removed are %s", got)
	}
	p := s.events[0].Prune
	if p == nil || p.Results != 5 || p.Before-p.After < 60_000 || p.After != s.talk.estimate() {
		t.Errorf("told is %+v; estimated are %d", p, s.talk.estimate())
	}
}

// The next response has room as in OpenCode: the model's output limit, at most 32,000 tokens.
// A small window is not left without a conversation.
func TestRoomForTheResponse(t *testing.T) {
	for _, tt := range []struct{ window, maxOutput, asked, want int }{
		{200_000, 64_000, 0, 168_000},
		{200_000, 8_000, 0, 192_000},
		{200_000, 64_000, 1_000, 199_000},
		{200_000, 0, 0, 168_000},
		{40_000, 40_000, 0, 20_000},
		{40_000, 0, 0, 30_000},
	} {
		s := &Session{cfg: Config{Window: tt.window, MaxOutput: tt.maxOutput, Sampling: model.Sampling{MaxOutput: tt.asked}}}
		if got := s.cfg.room(); got != int64(tt.want) {
			t.Errorf("window %d, output %d (%d asked): %d, want %d", tt.window, tt.maxOutput, tt.asked, got, tt.want)
		}
	}
}
