package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
)

// decoder decodes the chunks of a stream. It is a [wire.Decoder].
type decoder struct {
	chat      *chat
	faults    wire.Faults
	emit      func(model.Delta)
	text      strings.Builder
	reasoning strings.Builder
	calls     *wire.Calls
	byTool    bool // the response is the input of a tool
	details   details
	signed    []signature
	signs     int     // bytes of signatures
	others    []int64 // indexes of calls that are no functions'
	skipped   bool    // there were such calls
	chunks    int
	usage     *money.Usage
	costUSD   *money.USD
	tier      string // service tier
	served    string // name of the model

	finish  string // finish reason; "" until the model finishes
	refused bool   // the model refused
	counted bool   // usage was received with or after the finish reason
	done    bool   // [DONE] was received
}

// signature is data of a tool call that must be sent back with it.
type signature struct {
	index int64
	id    string
	extra json.RawMessage
}

// newDecoder returns a decoder for the response to req.
func (c *chat) newDecoder(req model.Request, emit func(model.Delta)) *decoder {
	return &decoder{chat: c, faults: c.line.Faults, emit: emit, calls: wire.NewCalls(req, emit), byTool: c.outputByTool(req)}
}

// Progress implements [wire.Decoder].
func (a *decoder) Progress() wire.Progress {
	switch {
	case a.done:
		return wire.Done
	case a.finish != "" && a.counted:
		return wire.Counted
	case a.finish != "":
		return wire.Finished
	case a.chunks > 0:
		return wire.Going
	}
	return wire.Waiting
}

// Size implements [wire.Decoder].
func (a *decoder) Size() int {
	return max(a.text.Len()+a.reasoning.Len()+a.calls.Size(), a.details.size, a.signs)
}

// End implements [wire.Decoder].
func (a *decoder) End() { a.done = true }

// Body implements [wire.Decoder]. A non-streaming response has the form of
// one chunk with a message instead of a delta in its choice.
func (a *decoder) Body(data []byte) error {
	var chunk sdk.ChatCompletionChunk
	if err := wire.Decode(data, &chunk); err != nil {
		return a.faults.Unreadable(err, data)
	}
	if wire.Present(chunk.JSON.ExtraFields["error"].Raw()) {
		a.fail(chunk)
		return a.faults.Midstream(data)
	}
	return a.Event(chunk)
}

// Failed implements [wire.Decoder].
func (a *decoder) Failed(data []byte) {
	var chunk sdk.ChatCompletionChunk
	if wire.Decode(data, &chunk) == nil {
		a.fail(chunk)
	}
}

// fail reads the usage of a chunk that is an error, which nothing follows.
func (a *decoder) fail(chunk sdk.ChatCompletionChunk) {
	a.counted = a.count(chunk) || a.counted
}

// Event implements [wire.Decoder].
func (a *decoder) Event(chunk sdk.ChatCompletionChunk) error {
	if lost(chunk.JSON.Choices) {
		return a.faults.Garbled("response chunk has no valid choices: %s", wire.Quote(chunk.RawJSON()))
	}
	for _, choice := range chunk.Choices {
		if fault := choice.JSON.ExtraFields["error"].Raw(); wire.Present(fault) {
			a.fail(chunk)
			return a.faults.Midstream([]byte(`{"error":` + fault + `}`))
		}
		if err := a.add(choice); err != nil {
			return a.faults.Garbled("%v: %s", err, wire.Quote(chunk.RawJSON()))
		}
	}
	a.count(chunk)
	return nil
}

// add adds a choice of a chunk. Only one was requested.
func (a *decoder) add(choice sdk.ChatCompletionChunkChoice) error {
	if choice.Index != 0 {
		return nil
	}
	a.chunks++
	delta := choice.Delta
	if message := choice.JSON.ExtraFields["message"].Raw(); !choice.JSON.Delta.Valid() && message != "" {
		if err := json.Unmarshal([]byte(message), &delta); err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
	}
	if err := a.addText(delta); err != nil {
		return err
	}
	if lost(delta.JSON.ToolCalls) {
		return errors.New("the tool calls are no list")
	}
	for _, tc := range delta.ToolCalls {
		if a.hosted(tc) {
			continue
		}
		p := a.callDelta(tc)
		if !a.calls.Add(p) {
			return fmt.Errorf("more than %d tool calls in one response", wire.MaxCalls)
		}
	}
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	return nil
}

func (a *decoder) addText(delta sdk.ChatCompletionChunkChoiceDelta) error {
	content, reasoning := orRaw(delta.Content, delta.JSON.Content), ""
	for _, name := range []string{"reasoning_content", "reasoning"} {
		reasoning = cmp.Or(reasoning, wire.Text([]byte(delta.JSON.ExtraFields[name].Raw())))
	}
	if a.chat.dialect.Reasoning == ReasoningDetails {
		a.details.add(delta.JSON.ExtraFields["reasoning_details"].Raw())
	}
	if raw := delta.JSON.Content.Raw(); lost(delta.JSON.Content) && (raw[0] == '[' || raw[0] == '{') {
		var err error
		if content, reasoning, err = contentList(raw); err != nil {
			return err
		}
	}
	a.put(model.ReasoningDelta, &a.reasoning, reasoning)
	a.put(model.TextDelta, &a.text, content)
	a.put(model.TextDelta, &a.text, delta.Refusal)
	a.refused = a.refused || delta.Refusal != ""
	return nil
}

func (a *decoder) put(kind model.DeltaKind, to *strings.Builder, s string) {
	if s == "" {
		return
	}
	to.WriteString(s)
	a.emit(model.Delta{Kind: kind, Text: s})
}

// contentList decodes content that is a list, as sent by Mistral's reasoning models.
func contentList(raw string) (content, reasoning string, err error) {
	var list []struct {
		Text     string
		Thinking []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return "", "", fmt.Errorf("read the content: %w", err)
	}
	for _, entry := range list {
		content += entry.Text
		for _, thought := range entry.Thinking {
			reasoning += thought.Text
		}
	}
	return content, reasoning, nil
}

// hosted reports whether a delta is of a call that is no function's: the provider runs it, if
// anybody does. Only its first delta has a type.
func (a *decoder) hosted(tc sdk.ChatCompletionChunkChoiceDeltaToolCall) bool {
	switch {
	case tc.Type != "" && tc.Type != "function":
		a.others, a.skipped = append(a.others, tc.Index), true
	case tc.ID != "" || tc.Function.Name != "": // servers without indexes begin another one
		a.others = slices.DeleteFunc(a.others, func(i int64) bool { return i == tc.Index })
	}
	return slices.Contains(a.others, tc.Index)
}

func (a *decoder) callDelta(tc sdk.ChatCompletionChunkChoiceDeltaToolCall) wire.CallDelta {
	p := wire.CallDelta{Index: -1, ID: tc.ID, Name: tc.Function.Name, Input: orRaw(tc.Function.Arguments, tc.Function.JSON.Arguments), Chunk: a.chunks}
	if tc.JSON.Index.Valid() && tc.Index >= 0 {
		p.Index = tc.Index
	}
	if extra := tc.JSON.ExtraFields["extra_content"].Raw(); wire.Present(extra) && tc.ID != "" {
		a.signs += len(extra)
		a.signed = append(a.signed, signature{p.Index, tc.ID, json.RawMessage(extra)})
	}
	return p
}

// count reads the usage of a chunk, and reports whether it has any. Groq sends it in x_groq.
func (a *decoder) count(chunk sdk.ChatCompletionChunk) bool {
	a.tier, a.served = cmp.Or(string(chunk.ServiceTier), a.tier), cmp.Or(chunk.Model, a.served)
	u := chunk.Usage
	if aside := chunk.JSON.ExtraFields["x_groq"].Raw(); aside != "" && !u.JSON.PromptTokens.Valid() {
		var of struct{ Usage sdk.CompletionUsage }
		if json.Unmarshal([]byte(aside), &of) == nil {
			u = of.Usage
		}
	}
	usage, cost := usageOf(u)
	if usage == nil {
		return false
	}
	usage.Terms = terms(a.tier)
	a.usage, a.costUSD = usage, cost
	a.counted = a.finish != ""
	return true
}

// finishes maps the finish reasons of providers. Others are unknown.
var finishes = map[string]model.Finish{
	"stop":           model.FinishStop,
	"tool_calls":     model.FinishTools,
	"function_call":  model.FinishTools,
	"length":         model.FinishLength,
	"model_length":   model.FinishLength, // Mistral
	"content_filter": model.FinishFilter,
}

// Conclude implements [wire.Decoder].
func (a *decoder) Conclude() (model.Response, error) {
	if a.finish == "error" {
		return model.Response{}, errors.New("the provider ended the response with an error")
	}
	if a.finish == "tool_calls" && a.skipped && a.calls.Size() == 0 {
		a.finish = "stop" // for calls that are not ours
	}
	resp, err := wire.StreamEnd{
		Text: a.text.String(), Reasoning: a.reasoning.String(), Calls: a.calls,
		Finish: wire.FinishOf(finishes, a.finish), Announced: a.done, Refused: a.refused,
	}.Response()
	if err != nil {
		return model.Response{}, err
	}
	resp.Usage, resp.CostUSD, resp.State, resp.Served = a.usage, a.costUSD, a.state(resp.Calls), wire.ModelName(a.served)
	if a.byTool {
		wire.UseOutputCall(&resp)
	}
	return resp, nil
}

// Spent implements [wire.Decoder].
func (a *decoder) Spent() money.Charge { return wire.NewCharge(a.usage, a.costUSD, a.counted) }

// state returns the data that the server expects back, or nil.
func (a *decoder) state(made []model.ToolCall) *model.State {
	s := chatState{Details: a.details.encoded()}
	if a.chat.dialect.Reasoning == ReasoningSignatures {
		for _, c := range made {
			for _, sign := range a.signed {
				if sign.id == c.ID {
					if s.Calls == nil {
						s.Calls = map[string]json.RawMessage{}
					}
					s.Calls[c.ID] = sign.extra
				}
			}
		}
	}
	if s.Details == nil && s.Calls == nil {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil // unreachable: it was decoded from JSON
	}
	return &model.State{Wire: a.chat.state, Data: data}
}

// lost reports whether the SDK did not decode a field, about which it has no error.
func lost(f respjson.Field) bool { return wire.Present(f.Raw()) && !f.Valid() }

// orRaw returns a string that the SDK decoded, or the JSON of a value of another type: some
// servers send the arguments of a call as an object.
func orRaw(s string, f respjson.Field) string {
	if lost(f) {
		return f.Raw()
	}
	return s
}
