package wiretest

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
)

// The wire's own form, so far as it is used.
type (
	chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   *usage   `json:"usage"`
	}
	choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	delta struct {
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	usage struct {
		Prompt     int64             `json:"prompt_tokens"`
		Completion int64             `json:"completion_tokens"`
		Total      int64             `json:"total_tokens"`
		PromptOf   promptDetails     `json:"prompt_tokens_details"`
		OutputOf   completionDetails `json:"completion_tokens_details"`
	}
	promptDetails struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	}
	completionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	}
)

// stream returns the bytes of the response to req. The usage is reported if the
// request asks for it and the turn states it.
func stream(req Request, turn *script.Turn, chunk int) []byte {
	switch req.Wire {
	case Responses:
		return streamResponses(req, turn, chunk)
	case Messages:
		return streamMessages(req, turn, chunk)
	default:
		return streamChat(req, turn, chunk)
	}
}

func streamChat(req Request, turn *script.Turn, chunk int) []byte {
	out := writer{model: req.Model}
	empty := ""
	out.delta(delta{Role: string(model.Assistant), Content: &empty})
	for s := range chunks(turn.Reasoning, chunk) {
		out.delta(delta{Reasoning: s})
	}
	for s := range chunks(turn.Text, chunk) {
		out.delta(delta{Content: &s})
	}
	for i, c := range turn.Calls {
		out.delta(delta{ToolCalls: []toolCall{{Index: i, ID: c.ID, Type: "function", Function: function{Name: c.Name}}}})
		for s := range chunks(c.Input, chunk) {
			out.delta(delta{ToolCalls: []toolCall{{Index: i, Function: function{Arguments: s}}}})
		}
	}
	finish := string(turn.Finish)
	out.chunk([]choice{{Finish: &finish}}, nil)
	if (req.StreamOptions.IncludeUsage || req.Usage.Include) && turn.Usage != nil {
		out.chunk([]choice{}, usageOf(*turn.Usage))
	}
	out.WriteString("data: [DONE]\n\n")
	return out.Bytes()
}

func usageOf(u money.Usage) *usage {
	return &usage{
		Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output,
		PromptOf: promptDetails{u.CacheRead, u.CacheWrite},
		OutputOf: completionDetails{u.Reasoning},
	}
}

type writer struct {
	bytes.Buffer
	model string
}

func (w *writer) delta(d delta) { w.chunk([]choice{{Delta: d}}, nil) }

func (w *writer) chunk(choices []choice, u *usage) {
	w.WriteString("data: ")
	enc := json.NewEncoder(w)
	_ = enc.Encode(chunk{ // such structs can always be encoded
		ID: "chatcmpl-script", Object: "chat.completion.chunk", Model: w.model, Choices: choices, Usage: u,
	})
	w.WriteString("\n")
}

// chunks yields s in pieces of about size bytes, none of which cuts a rune.
func chunks(s string, size int) func(yield func(string) bool) {
	if size <= 0 {
		size = 24
	}
	return func(yield func(string) bool) {
		for s := s; s != ""; {
			n := min(size, len(s))
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n++
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}
