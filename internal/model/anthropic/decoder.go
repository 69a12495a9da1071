package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
)

// decoder decodes the events of a stream. It is a [wire.Decoder].
type decoder struct {
	client    *client
	faults    wire.Faults
	emit      func(model.Delta)
	text      strings.Builder
	reasoning strings.Builder
	calls     *wire.Calls
	byTool    bool // the response is the input of a tool
	events    int
	blocks    []*growing
	hidden    int // bytes of signatures and encrypted thinking
	usage     counts
	stop      string // stop reason; "" until the model finishes
	served    string // name of the model
	done      bool   // message_stop was received
}

// growing is an incomplete content block.
type growing struct {
	index     int64
	kind      string
	text      strings.Builder
	signature strings.Builder
	input     string // input in the start of a call
	streamed  bool   // deltas of its input were received
}

// mostBlocks limits the work that a response can cause. Real responses have far fewer.
const mostBlocks = 2 * wire.MaxCalls

func (c *client) newDecoder(req model.Request, emit func(model.Delta)) *decoder {
	return &decoder{client: c, faults: c.line.Faults, emit: emit, calls: wire.NewCalls(req, emit), byTool: c.outputByTool(req)}
}

// Progress implements [wire.Decoder].
func (a *decoder) Progress() wire.Progress {
	switch {
	case a.done:
		return wire.Done
	case a.stop != "":
		return wire.Counted // the usage is sent with the stop reason
	case a.events > 0:
		return wire.Going
	}
	return wire.Waiting
}

// Size implements [wire.Decoder].
func (a *decoder) Size() int {
	return a.text.Len() + a.reasoning.Len() + a.calls.Size() + a.hidden
}

// End implements [wire.Decoder]. Servers that imitate Anthropic's announce the end as OpenAI does.
func (a *decoder) End() { a.done = a.stop != "" }

// Event implements [wire.Decoder].
func (a *decoder) Event(e sdk.MessageStreamEventUnion) error {
	index := int64(-1)
	if e.JSON.Index.Valid() && e.Index >= 0 {
		index = e.Index
	}
	switch e.Type {
	case "message_start":
		if len(a.blocks) > 0 {
			return a.faults.Garbled("a second message starts within the response")
		}
		a.events++
		a.usage.start(e.Message.Usage)
		a.served = e.Message.Model
	case "content_block_start":
		a.events++
		return a.begin(index, e.ContentBlock)
	case "content_block_delta":
		a.events++
		return a.grow(index, e)
	case "message_delta":
		a.events++
		a.usage.add(e.Usage)
		if e.Delta.StopReason != "" {
			a.stop = string(e.Delta.StopReason)
		}
	case "message_stop":
		a.done = true
	}
	return nil // content_block_stop, ping, and future events
}

// begin adds the start of a block, which may be the complete block.
func (a *decoder) begin(index int64, b sdk.ContentBlockStartEventContentBlockUnion) error {
	if len(a.blocks) >= mostBlocks {
		return a.faults.Garbled("more than %d blocks in one response", mostBlocks)
	}
	g := &growing{index: index, kind: b.Type}
	g.signature.WriteString(b.Signature)
	a.hidden += len(b.Signature) + len(b.Data)
	a.blocks = append(a.blocks, g)
	switch b.Type {
	case "text":
		a.put(g, model.TextDelta, &a.text, b.Text)
	case "thinking":
		if a.reasoning.Len() > 0 {
			a.reasoning.WriteString("\n\n")
			a.emit(model.Delta{Kind: model.ReasoningDelta, Text: "\n\n"})
		}
		a.put(g, model.ReasoningDelta, &a.reasoning, b.Thinking)
	case "redacted_thinking":
		g.text.WriteString(b.Data)
	case "tool_use":
		if raw := b.JSON.Input.Raw(); raw != "null" && raw != "{}" {
			g.input = raw
			a.hidden += len(raw)
		}
		return a.call(wire.CallDelta{Index: index, ID: b.ID, Name: b.Name})
	}
	return nil
}

// at returns the block with an index, or the last one without an index; nil if no
// block has started.
func (a *decoder) at(index int64) *growing {
	for _, g := range slices.Backward(a.blocks) {
		if index < 0 || g.index == index {
			return g
		}
	}
	return nil
}

// grow adds a delta to a block. A text delta without a block starts one.
func (a *decoder) grow(index int64, e sdk.MessageStreamEventUnion) error {
	d := e.Delta
	g := a.at(index)
	if g == nil {
		kind := map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[d.Type]
		if kind == "" || len(a.blocks) >= mostBlocks {
			return a.faults.Garbled("a piece of a block that did not begin: %s", wire.Quote(e.RawJSON()))
		}
		g = &growing{index: index, kind: kind}
		a.blocks = append(a.blocks, g)
	}
	switch d.Type {
	case "text_delta":
		a.put(g, model.TextDelta, &a.text, d.Text)
	case "thinking_delta":
		a.put(g, model.ReasoningDelta, &a.reasoning, d.Thinking)
	case "signature_delta":
		a.hidden += len(d.Signature)
		g.signature.WriteString(d.Signature)
	case "input_json_delta":
		input := d.PartialJSON
		if raw := d.JSON.PartialJSON.Raw(); input == "" && strings.HasPrefix(raw, "{") { // some servers don't send it as text
			input = raw
		}
		if input == "" || g.kind != "tool_use" { // of a tool that the provider runs
			return nil
		}
		g.streamed = true
		return a.call(wire.CallDelta{Index: index, Input: input})
	}
	return nil
}

func (a *decoder) put(g *growing, kind model.DeltaKind, to *strings.Builder, s string) {
	if s == "" {
		return
	}
	g.text.WriteString(s)
	to.WriteString(s)
	a.emit(model.Delta{Kind: kind, Text: s})
}

func (a *decoder) call(p wire.CallDelta) error {
	p.Chunk = len(a.blocks)
	if !a.calls.Add(p) {
		return a.faults.Garbled("more than %d tool calls in one response", wire.MaxCalls)
	}
	return nil
}

// Body implements [wire.Decoder].
func (a *decoder) Body(data []byte) error {
	var body struct {
		Type       string
		Error      json.RawMessage
		Content    []sdk.ContentBlockStartEventContentBlockUnion
		Model      string
		StopReason string `json:"stop_reason"`
		Usage      sdk.Usage
	}
	if err := wire.Decode(data, &body); err != nil {
		return a.faults.Unreadable(err, data)
	}
	a.usage.start(body.Usage)
	_, a.usage.final = wire.Count(body.Usage.JSON.OutputTokens.Raw())
	if body.Type == "error" || len(body.Error) > 0 && string(body.Error) != "null" {
		return a.faults.Midstream(data)
	}
	for i, b := range body.Content {
		a.events++
		if err := a.begin(int64(i), b); err != nil {
			return err
		}
	}
	a.served = body.Model
	a.stop = body.StopReason
	return nil
}

// Failed implements [wire.Decoder].
func (a *decoder) Failed(data []byte) {
	var e sdk.MessageStreamEventUnion
	if wire.Decode(data, &e) == nil {
		a.usage.add(e.Usage)
	}
}

// stops maps the stop reasons. Others are unknown.
var stops = map[string]model.Finish{
	"end_turn":                      model.FinishStop,
	"stop_sequence":                 model.FinishStop,
	"tool_use":                      model.FinishTools,
	"max_tokens":                    model.FinishLength,
	"model_context_window_exceeded": model.FinishLength,
	"refusal":                       model.FinishFilter,
}

// Conclude implements [wire.Decoder].
func (a *decoder) Conclude() (model.Response, error) {
	for _, g := range a.blocks {
		if g.input != "" && !g.streamed {
			if err := a.call(wire.CallDelta{Index: g.index, Input: g.input}); err != nil {
				return model.Response{}, err
			}
		}
	}
	resp, err := wire.StreamEnd{
		Text: a.text.String(), Reasoning: a.reasoning.String(), Calls: a.calls,
		Finish: wire.FinishOf(stops, a.stop), Announced: a.done,
	}.Response()
	if err != nil {
		return model.Response{}, err
	}
	resp.Usage, resp.State, resp.Served = a.usage.normal(), a.state(resp.Calls), wire.ModelName(a.served)
	if a.byTool && wire.UseOutputCall(&resp) {
		resp.State = nil // the text differs from that of the blocks
	}
	return resp, nil
}

// Spent implements [wire.Decoder].
func (a *decoder) Spent() money.Charge { return wire.NewCharge(a.usage.soFar(), nil, a.usage.final) }

// state returns the blocks in order if they contain signed thinking;
// otherwise nil, because the message has all data. Calls in the message are
// stored as their index; the output tool's call is excluded.
func (a *decoder) state(made []model.ToolCall) *model.State {
	var blocks []block
	signed := false
	call, dropped := 0, 0
	for _, g := range a.blocks {
		b := block{Type: g.kind, Text: g.text.String(), Signature: g.signature.String()}
		switch g.kind {
		case "thinking":
			if g.signature.Len() == 0 {
				continue // the provider would reject it
			}
			signed = true
		case "redacted_thinking":
			signed = true
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
		case "tool_use":
			if call >= len(made) {
				return nil
			}
			if a.byTool && made[call].Name == wire.OutputTool {
				call++
				dropped++
				continue
			}
			b = block{Type: g.kind, Call: call - dropped}
			call++
		default:
			continue
		}
		blocks = append(blocks, b)
	}
	if !signed || call != len(made) {
		return nil
	}
	data, err := json.Marshal(blocks)
	if err != nil {
		return nil // unreachable: only strings and numbers
	}
	return &model.State{Wire: a.client.state, Data: data}
}

// counts are token counts as the API reports them: the start of a response has
// the input and a preliminary output count, its end the final one. Without
// the start nothing is known.
type counts struct {
	known, final           bool
	input, output, thought int64
	cacheRead, cacheWrite  int64
	cacheWriteLong         int64
	searches               int64
	terms                  string
}

func (u *counts) start(s sdk.Usage) {
	input, ok := wire.Count(s.JSON.InputTokens.Raw())
	if !ok {
		return
	}
	u.known, u.input = true, input
	u.output, u.thought = wire.Detail(s.JSON.OutputTokens.Raw()), wire.Detail(s.OutputTokensDetails.JSON.ThinkingTokens.Raw())
	u.cacheRead, u.cacheWrite = wire.Detail(s.JSON.CacheReadInputTokens.Raw()), wire.Detail(s.JSON.CacheCreationInputTokens.Raw())
	u.cacheWriteLong = wire.Detail(s.CacheCreation.JSON.Ephemeral1hInputTokens.Raw())
	var terms []string
	if s.Speed == sdk.UsageSpeedFast {
		terms = append(terms, "fast")
	}
	if s.InferenceGeo == "us" {
		terms = append(terms, "us")
	}
	if s.ServiceTier == sdk.UsageServiceTierBatch {
		terms = append(terms, "batch")
	}
	u.terms = strings.Join(terms, " ")
	u.searches = wire.Detail(s.ServerToolUse.JSON.WebSearchRequests.Raw())
}

func (u *counts) add(s sdk.MessageDeltaUsage) {
	_, input := wire.Count(s.JSON.InputTokens.Raw())
	_, output := wire.Count(s.JSON.OutputTokens.Raw())
	u.known, u.final = u.known || input, u.final || output
	for to, raw := range map[*int64]string{
		&u.input:      s.JSON.InputTokens.Raw(),
		&u.output:     s.JSON.OutputTokens.Raw(),
		&u.cacheRead:  s.JSON.CacheReadInputTokens.Raw(),
		&u.cacheWrite: s.JSON.CacheCreationInputTokens.Raw(),
		&u.thought:    s.OutputTokensDetails.JSON.ThinkingTokens.Raw(),
		&u.searches:   s.ServerToolUse.JSON.WebSearchRequests.Raw(),
	} {
		if n, ok := wire.Count(raw); ok {
			*to = n
		}
	}
}

// normal returns the usage in the neutral form, in which input includes cached
// tokens. It is nil if no plausible usage was reported.
func (u *counts) normal() *money.Usage {
	if !u.final {
		return nil
	}
	return u.soFar()
}

// soFar returns the usage reported so far.
func (u *counts) soFar() *money.Usage {
	got := money.Usage{
		Input: u.input, Output: u.output, Reasoning: u.thought,
		CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, CacheWriteLong: u.cacheWriteLong, Searches: u.searches, Terms: u.terms,
	}
	if !u.known || !wire.Plausible(got) {
		return nil
	}
	got.Input += u.cacheRead + u.cacheWrite
	return &got
}
