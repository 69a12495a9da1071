package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
)

// output decodes the events of the Responses API. It is a [wire.Decoder].
type output struct {
	responder *responder
	faults    wire.Faults
	emit      func(model.Delta)
	text      strings.Builder
	reasoning strings.Builder
	calls     *wire.Calls
	events    int
	items     []item
	raw       int // bytes of items sent completely
	usage     *money.Usage
	served    string       // name of the model
	finish    model.Finish // "" until the model finishes
	refused   bool         // the model refused
}

// item is the state of an output item.
type item struct {
	index    int64
	streamed bool // deltas of its text or arguments were received
	raw      json.RawMessage
	call     bool
	text     []byte
	phase    responses.ResponseOutputMessagePhase // of a message: as OpenAI spells it, or ""
}

func (r *responder) newDecoder(req model.Request, emit func(model.Delta)) *output {
	return &output{responder: r, faults: r.line.Faults, emit: emit, calls: wire.NewCalls(req, emit)}
}

// Progress implements [wire.Decoder].
func (o *output) Progress() wire.Progress {
	switch {
	case o.finish != "":
		return wire.Done
	case o.events > 0:
		return wire.Going
	}
	return wire.Waiting
}

// Size implements [wire.Decoder]. Items repeat the content, with additional data.
func (o *output) Size() int {
	return max(o.text.Len()+o.reasoning.Len()+o.calls.Size(), o.raw/3)
}

// End implements [wire.Decoder]. The last event of a response is its end.
func (o *output) End() {}

// Event implements [wire.Decoder].
func (o *output) Event(e responses.ResponseStreamEventUnion) error {
	o.events++
	if len(o.items) > mostItems {
		return o.faults.Garbled("more than %d items in one response", mostItems)
	}
	return o.take(e)
}

// mostItems limits the work that a response can cause. Real responses have far fewer.
const mostItems = 2 * wire.MaxCalls

func (o *output) take(e responses.ResponseStreamEventUnion) error {
	index := int64(-1)
	if e.JSON.OutputIndex.Valid() && e.OutputIndex >= 0 {
		index = e.OutputIndex
	}
	switch e.Type {
	case "response.refusal.delta":
		o.refused = o.refused || e.Delta != ""
		o.say(index, e.Delta)
	case "response.output_text.delta":
		o.say(index, e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		o.think(index, e.Delta)
	case "response.reasoning_summary_part.added":
		if o.reasoning.Len() > 0 {
			o.think(index, paragraph)
		}
	case "response.function_call_arguments.delta":
		o.at(index).streamed = true
		return o.call(wire.CallDelta{Index: index, Input: orRaw(e.Delta, e.JSON.Delta)})
	case "response.function_call_arguments.done":
		if input := orRaw(e.Arguments, e.JSON.Arguments); !o.at(index).streamed && input != "" {
			o.at(index).streamed = true
			return o.call(wire.CallDelta{Index: index, Input: input})
		}
	case "response.output_item.added":
		return o.begin(index, e.Item)
	case "response.output_item.done":
		return o.end(index, e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		return o.conclude(e.Response)
	}
	return nil
}

// Body implements [wire.Decoder].
func (o *output) Body(data []byte) error {
	var body responses.Response
	if err := wire.Decode(data, &body); err != nil {
		return o.faults.Unreadable(err, data)
	}
	if wire.Present(body.JSON.Error.Raw()) {
		o.count(body)
		return o.faults.Midstream(data)
	}
	if body.Status == "" {
		return nil // not a response; Conclude fails
	}
	o.events++
	return o.conclude(body)
}

// Failed implements [wire.Decoder].
func (o *output) Failed(data []byte) {
	var e responses.ResponseStreamEventUnion
	if wire.Decode(data, &e) == nil {
		o.count(e.Response)
	}
}

// at returns the item with an index, or the last one without an index.
func (o *output) at(index int64) *item {
	if index < 0 && len(o.items) > 0 {
		return &o.items[len(o.items)-1]
	}
	for i := range o.items {
		if o.items[i].index == index {
			return &o.items[i]
		}
	}
	o.items = append(o.items, item{index: index})
	return &o.items[len(o.items)-1]
}

// paragraph separates the texts of items.
const paragraph = "\n\n"

// say appends a text. The text of another item starts a new paragraph.
func (o *output) say(index int64, s string) {
	known := o.at(index)
	if s == "" {
		return
	}
	known.text = append(known.text, s...)
	if !known.streamed && o.text.Len() > 0 {
		s = paragraph + s
	}
	known.streamed = true
	o.text.WriteString(s)
	o.emit(model.Delta{Kind: model.TextDelta, Text: s})
}

func (o *output) think(index int64, s string) {
	o.at(index).streamed = true
	if s == "" {
		return
	}
	o.reasoning.WriteString(s)
	o.emit(model.Delta{Kind: model.ReasoningDelta, Text: s})
}

func (o *output) call(p wire.CallDelta) error {
	p.Chunk = o.events
	if !o.calls.Add(p) {
		return o.faults.Garbled("more than %d tool calls in one response", wire.MaxCalls)
	}
	return nil
}

// begin adds the start of an item.
func (o *output) begin(index int64, it responses.ResponseOutputItemUnion) error {
	if index < 0 {
		o.items = append(o.items, item{index: int64(len(o.items))})
	}
	known := o.at(index)
	known.phase = it.Phase
	if it.Type != "function_call" || known.call {
		return nil
	}
	known.call = true
	input := argumentsOf(it)
	known.streamed = input != ""
	return o.call(wire.CallDelta{Index: index, ID: it.CallID, Name: it.Name, Input: input})
}

// argumentsOf returns the arguments of a call, also if they were sent as an object.
func argumentsOf(it responses.ResponseOutputItemUnion) string {
	if raw := it.JSON.Arguments.Raw(); it.Arguments.OfString == "" && wire.Present(raw) {
		return raw
	}
	return it.Arguments.OfString
}

// end adds a complete item, usually after its deltas.
func (o *output) end(index int64, it responses.ResponseOutputItemUnion) error {
	known := o.at(index)
	known.raw = json.RawMessage(it.RawJSON())
	known.phase = cmp.Or(it.Phase, known.phase)
	o.raw += len(known.raw)
	streamed := known.streamed
	switch it.Type {
	case "function_call":
		p := wire.CallDelta{Index: index, ID: it.CallID, Name: it.Name}
		if !streamed {
			p.Input = argumentsOf(it)
		}
		if known.call && p.Input == "" {
			return nil
		}
		known.call, known.streamed = true, true
		return o.call(p)
	case "message":
		for _, part := range it.Content {
			o.refused = o.refused || part.Refusal != ""
			if !streamed {
				o.say(index, part.Text+part.Refusal)
			}
		}
	case "reasoning":
		for _, part := range it.Summary {
			if !streamed {
				o.think(index, part.Text)
			}
		}
	}
	return nil
}

// conclude adds the last event, which repeats the complete response.
func (o *output) conclude(body responses.Response) error {
	o.served = body.Model
	o.count(body)
	if body.Status == responses.ResponseStatusFailed || wire.Present(body.JSON.Error.Raw()) {
		said := body.JSON.Error.Raw()
		if !wire.Present(said) {
			said = `"the response failed"`
		}
		return o.faults.Midstream([]byte(`{"error":` + said + `}`))
	}
	if !body.JSON.Status.Valid() && !body.JSON.Output.Valid() {
		return o.faults.Garbled("response ended without an end event: %s", wire.Quote(body.RawJSON()))
	}
	if len(o.items) == 0 {
		for i, it := range body.Output {
			if err := o.end(int64(i), it); err != nil {
				return err
			}
		}
	}
	o.finish = model.FinishStop
	if body.Status == responses.ResponseStatusIncomplete {
		o.finish = model.FinishUnknown
		switch body.IncompleteDetails.Reason {
		case "max_output_tokens":
			o.finish = model.FinishLength
		case "content_filter":
			o.finish = model.FinishFilter
		}
	}
	return nil
}

// count reads the usage of a response.
func (o *output) count(body responses.Response) {
	if o.usage = usageOfResponse(body.Usage); o.usage == nil {
		return
	}
	o.usage.Terms = terms(string(body.ServiceTier))
	for _, it := range body.Output {
		if it.Type == "web_search_call" {
			o.usage.Searches++
		}
	}
}

// usageOfResponse converts the usage unchanged: input includes cached tokens, output
// includes reasoning.
func usageOfResponse(u responses.ResponseUsage) *money.Usage {
	input, ok := wire.Count(u.JSON.InputTokens.Raw())
	output, reported := wire.Count(u.JSON.OutputTokens.Raw())
	got := money.Usage{
		Input:      input,
		Output:     output,
		Reasoning:  wire.Detail(u.OutputTokensDetails.JSON.ReasoningTokens.Raw()),
		CacheRead:  wire.Detail(u.InputTokensDetails.JSON.CachedTokens.Raw()),
		CacheWrite: wire.Detail(u.InputTokensDetails.JSON.CacheWriteTokens.Raw()),
	}
	if !ok || !reported || !wire.Plausible(got) {
		return nil
	}
	return &got
}

// Conclude implements [wire.Decoder].
func (o *output) Conclude() (model.Response, error) {
	slices.SortStableFunc(o.items, func(a, b item) int { return int(a.index - b.index) })
	text, reasoning := o.content()
	resp, err := wire.StreamEnd{Text: text, Reasoning: reasoning, Calls: o.calls, Finish: o.finish, Refused: o.refused}.Response()
	if err != nil {
		return model.Response{}, err
	}
	resp.Usage, resp.State, resp.Served = o.usage, o.state(), wire.ModelName(o.served)
	return resp, nil
}

// Spent implements [wire.Decoder].
func (o *output) Spent() money.Charge { return wire.NewCharge(o.usage, nil, true) }

// content returns the text of the response and its reasoning. If the model marked a message as
// its final one, commentary before that counts as reasoning.
func (o *output) content() (text, reasoning string) {
	isFinal := func(it item) bool { return it.phase == responses.ResponseOutputMessagePhaseFinalAnswer }
	if !slices.ContainsFunc(o.items, isFinal) {
		return o.text.String(), o.reasoning.String()
	}
	var final, aside []string
	if o.reasoning.Len() > 0 {
		aside = append(aside, o.reasoning.String())
	}
	for _, it := range o.items {
		switch {
		case len(it.text) == 0:
		case it.phase == responses.ResponseOutputMessagePhaseCommentary:
			aside = append(aside, string(it.text))
		default:
			final = append(final, string(it.text))
		}
	}
	return strings.Join(final, paragraph), strings.Join(aside, paragraph)
}

// state returns the items that must be sent back: reasoning with the items that follow it,
// as received, or messages with a phase. It is nil if the message has all data.
func (o *output) state() *model.State {
	var list, plain []json.RawMessage
	reasoned, phased := false, false
	for _, it := range o.items {
		var known responses.ResponseOutputItemUnion
		if it.raw == nil || json.Unmarshal(it.raw, &known) != nil {
			return nil
		}
		switch known.Type {
		case "reasoning":
			if known.EncryptedContent == "" {
				continue // it would be looked up in storage that was not requested
			}
			reasoned = true
		case "message":
			phased = phased || it.phase != ""
			plain = appendItem(plain, phrased(string(it.text), it.phase))
		case "function_call":
			plain = appendItem(plain, responses.ResponseInputItemParamOfFunctionCall(cmp.Or(argumentsOf(known), "{}"), known.CallID, known.Name))
		default:
			if strings.HasSuffix(known.Type, "_call") && !slices.Contains(hosted, known.Type) {
				return nil // it requires an output, which there is not
			}
		}
		list = append(list, it.raw)
	}
	if !reasoned {
		list = plain // ids without their reasoning are rejected
	}
	if !reasoned && !phased {
		return nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil // unreachable: it was decoded from JSON
	}
	return &model.State{Wire: o.responder.state, Data: data}
}

// hosted are the calls that the provider runs itself.
var hosted = []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}

// phrased returns a message of the model with a phase.
func phrased(text string, phase responses.ResponseOutputMessagePhase) responses.ResponseInputItemUnionParam {
	m := responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleAssistant)
	m.OfMessage.Phase = responses.EasyInputMessagePhase(phase)
	return m
}

func appendItem(list []json.RawMessage, item responses.ResponseInputItemUnionParam) []json.RawMessage {
	data, err := json.Marshal(item)
	if err != nil {
		return list // unreachable: only strings
	}
	return append(list, data)
}
