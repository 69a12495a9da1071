package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// Wire is a provider's protocol.
type Wire string

// The wires that are served.
const (
	Chat      Wire = "chat"      // Chat Completions, at /chat/completions
	Responses Wire = "responses" // OpenAI's Responses, at /responses
	Messages  Wire = "messages"  // Anthropic's Messages, at /messages
)

// wireAt returns the wire that is served at a path, "" for none.
func wireAt(path string) Wire {
	for suffix, w := range map[string]Wire{"/chat/completions": Chat, "/responses": Responses, "/messages": Messages} {
		if strings.HasSuffix(path, suffix) {
			return w
		}
	}
	return ""
}

// Request is what a client sent.
type Request struct {
	Wire   Wire        `json:"-"`
	Header http.Header `json:"-"`
	Query  string      `json:"-"`
	Body   []byte      `json:"-"`

	Model         string    `json:"model"`
	Messages      []Message `json:"messages"` // of every wire, in the form of Chat Completions; the system prompt is one
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Usage struct {
		Include bool `json:"include"`
	} `json:"usage"`
}

// Message is a message of a [Request].
type Message struct {
	Role       string
	Content    string // the texts of all parts; "" if it is null
	ToolCallID string
}

// UnmarshalJSON reads a message of Chat Completions.
func (m *Message) UnmarshalJSON(data []byte) error {
	var raw struct {
		Role       string
		Content    json.RawMessage
		ToolCallID string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*m = Message{raw.Role, textOf(raw.Content), raw.ToolCallID}
	return nil
}

// item is a piece of a content, of any wire.
type item struct {
	Type      string
	Text      string
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
}

// textOf is the text of a content: a string, or the texts of a list of parts.
func textOf(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []item
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

func parse(w Wire, header http.Header, body []byte) (Request, error) {
	req := Request{Wire: w, Header: header, Body: body}
	var err error
	switch w {
	case Responses:
		err = req.parseResponses()
	case Messages:
		err = req.parseMessages()
	default:
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		return req, fmt.Errorf("parse the request: %w", err)
	}
	if !req.Stream {
		return req, errors.New("only streams are served here; the request has no stream: true")
	}
	return req, nil
}

// parseResponses reads OpenAI's items. What the model made in a row is one
// response.
func (r *Request) parseResponses() error {
	var raw struct {
		Model, Instructions string
		Stream              bool
		Input               []struct {
			Type, Role, Arguments string
			Content, Output       json.RawMessage
			CallID                string `json:"call_id"`
		}
	}
	if err := json.Unmarshal(r.Body, &raw); err != nil {
		return err
	}
	r.Model, r.Stream, r.StreamOptions.IncludeUsage = raw.Model, raw.Stream, true
	r.say("system", raw.Instructions)
	answering := false
	for _, item := range raw.Input {
		own := item.Role == "assistant" || item.Type == "reasoning" || item.Type == "function_call"
		switch {
		case item.Type == "function_call_output":
			r.Messages = append(r.Messages, Message{"tool", textOf(item.Output), item.CallID})
		case own && answering:
			r.Messages[len(r.Messages)-1].Content += textOf(item.Content)
		case own:
			r.Messages = append(r.Messages, Message{Role: "assistant", Content: textOf(item.Content)})
		default:
			r.Messages = append(r.Messages, Message{Role: item.Role, Content: textOf(item.Content)})
		}
		answering = own
	}
	return nil
}

// parseMessages reads Anthropic's messages. Each block of the user's side is a
// message of its own.
func (r *Request) parseMessages() error {
	var raw struct {
		Model    string
		Stream   bool
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(r.Body, &raw); err != nil {
		return err
	}
	r.Model, r.Stream, r.StreamOptions.IncludeUsage = raw.Model, raw.Stream, true
	r.say("system", textOf(raw.System))
	for _, m := range raw.Messages {
		var parts []item
		if m.Role == "assistant" || json.Unmarshal(m.Content, &parts) != nil {
			r.Messages = append(r.Messages, Message{Role: m.Role, Content: textOf(m.Content)})
			continue
		}
		for _, p := range parts {
			if p.Type == "tool_result" {
				r.Messages = append(r.Messages, Message{"tool", textOf(p.Content), p.ToolUseID})
			} else {
				r.say(m.Role, p.Text)
			}
		}
	}
	return nil
}

func (r *Request) say(role, text string) {
	if text != "" {
		r.Messages = append(r.Messages, Message{Role: role, Content: text})
	}
}

// Tokens is how long the request is, counted roughly: four bytes make a token.
func (r Request) Tokens() int64 { return int64(len(r.Body)) / 4 }

// Responses returns how many answers of the model the conversation holds.
func (r Request) Responses() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == string(model.Assistant) {
			n++
		}
	}
	return n
}

// Conversation returns the messages but the system's in neutral terms, as far
// as a script looks at them.
func (r Request) Conversation() []model.Message {
	var list []model.Message
	for _, m := range r.Messages {
		if m.Role != "system" {
			list = append(list, model.Message{Role: model.Role(m.Role), Text: m.Content, CallID: m.ToolCallID})
		}
	}
	return list
}

// most is the most of output that the request asks for, by any of the names
// that this has; 0 if it does not say.
func (r Request) most() int64 {
	var asked struct {
		MaxTokens           int64 `json:"max_tokens"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
		MaxOutputTokens     int64 `json:"max_output_tokens"`
	}
	if json.Unmarshal(r.Body, &asked) != nil {
		return 0
	}
	return max(asked.MaxTokens, asked.MaxCompletionTokens, asked.MaxOutputTokens)
}
