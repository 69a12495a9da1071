package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/millhand/millhand/internal/model"
)

// answer grows with the chunks of a stream.
type answer struct {
	emit      func(model.Delta)
	text      strings.Builder
	reasoning strings.Builder
	calls     calls
	chunks    int
	usage     *model.Usage
	costUSD   *float64

	finish  string // the provider's word; "" while the model goes on
	counted bool   // usage came with or after the finish
	done    bool   // [DONE] came
}

// newAnswer begins the answer to req.
func newAnswer(req model.Request, emit func(model.Delta)) *answer {
	earlier := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			earlier[c.ID] = true
		}
	}
	return &answer{emit: emit, calls: calls{used: map[string]bool{}, earlier: earlier, emit: emit}}
}

// add takes a choice of a chunk. Only one was asked for.
func (a *answer) add(choice sdk.ChatCompletionChunkChoice) error {
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
		if !a.calls.add(pieceOf(tc, a.chunks)) {
			return fmt.Errorf("more than %d tool calls in one answer", mostCalls)
		}
	}
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	return nil
}

func (a *answer) addText(delta sdk.ChatCompletionChunkChoiceDelta) error {
	content, reasoning := delta.Content, text([]byte(delta.JSON.ExtraFields["reasoning_content"].Raw()))
	if reasoning == "" {
		reasoning = text([]byte(delta.JSON.ExtraFields["reasoning"].Raw()))
	}
	if lost(delta.JSON.Content) {
		var err error
		if content, reasoning, err = parts(delta.JSON.Content.Raw()); err != nil {
			return err
		}
	}
	a.put(model.ReasoningDelta, &a.reasoning, reasoning)
	a.put(model.TextDelta, &a.text, content)
	a.put(model.TextDelta, &a.text, delta.Refusal)
	return nil
}

func (a *answer) put(kind model.DeltaKind, to *strings.Builder, s string) {
	if s == "" {
		return
	}
	to.WriteString(s)
	a.emit(model.Delta{Kind: kind, Text: s})
}

// parts reads a content that is a list, as Mistral's reasoning models send it.
func parts(raw string) (content, reasoning string, err error) {
	var list []struct {
		Text     string
		Thinking []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return "", "", fmt.Errorf("read the content: %w", err)
	}
	for _, part := range list {
		content += part.Text
		for _, thought := range part.Thinking {
			reasoning += thought.Text
		}
	}
	return content, reasoning, nil
}

func pieceOf(tc sdk.ChatCompletionChunkChoiceDeltaToolCall, chunk int) piece {
	p := piece{index: -1, id: tc.ID, name: tc.Function.Name, input: tc.Function.Arguments, chunk: chunk}
	if tc.JSON.Index.Valid() && tc.Index >= 0 {
		p.index = tc.Index
	}
	return p
}

// count takes the usage of a chunk, if it has any.
func (a *answer) count(u sdk.CompletionUsage) {
	usage, cost := usageOf(u)
	if usage == nil {
		return
	}
	a.usage, a.costUSD = usage, cost
	a.counted = a.finish != ""
}

// finishes spells the words of providers as the model package does. What else
// they say is unknown.
var finishes = map[string]model.Finish{
	"stop":           model.FinishStop,
	"tool_calls":     model.FinishTools,
	"function_call":  model.FinishTools,
	"length":         model.FinishLength,
	"content_filter": model.FinishFilter,
}

// conclude returns the answer, or why it is none.
func (a *answer) conclude() (model.Response, error) {
	made, named := a.calls.finish()
	finish, known := finishes[a.finish]
	if !known {
		finish = model.FinishUnknown
	}
	switch {
	case a.finish == "" && !a.done:
		return model.Response{}, errors.New("the answer ended before the model had finished")
	case !named:
		return model.Response{}, errors.New("the model called a tool without a name")
	case a.finish == "error":
		return model.Response{}, errors.New("the provider ended the answer with an error")
	case finish == model.FinishTools && len(made) == 0:
		return model.Response{}, errors.New("the model stopped for tool calls, but none came")
	case a.finish == "" && len(made) == 0 && a.text.Len() == 0:
		return model.Response{}, errors.New("the answer is empty")
	case len(made) > 0 && (finish == model.FinishStop || finish == model.FinishUnknown):
		finish = model.FinishTools // what it did counts, not what it said
	}
	return model.Response{
		Text:      a.text.String(),
		Reasoning: a.reasoning.String(),
		Calls:     made,
		Finish:    finish,
		Usage:     a.usage,
		CostUSD:   a.costUSD,
	}, nil
}

// says reports whether a field is more than there.
func says(raw string) bool {
	switch raw {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}

// lost reports whether the SDK could not read what a field holds, which it does
// without an error.
func lost(f respjson.Field) bool {
	return says(f.Raw()) && !f.Valid()
}
