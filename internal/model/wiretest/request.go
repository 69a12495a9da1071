package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/millhand/millhand/internal/model"
)

// Request is what a client sent.
type Request struct {
	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`

	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Message is a message of a [Request].
type Message struct {
	Role       string `json:"role"`
	Content    string `json:"content"` // "" if it is null
	ToolCallID string `json:"tool_call_id"`
}

func parse(header http.Header, body []byte) (Request, error) {
	req := Request{Header: header, Body: body}
	if err := json.Unmarshal(body, &req); err != nil {
		return req, fmt.Errorf("parse the request: %w", err)
	}
	if !req.Stream {
		return req, errors.New("only streams are served here; the request has no stream: true")
	}
	return req, nil
}

// Answers returns how many answers of the model the conversation holds.
func (r Request) Answers() int {
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
