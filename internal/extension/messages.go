package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/jsontext"

	"github.com/millhand/millhand/internal/model"
)

// maxGrown is how many bytes plugins may add to the texts of a conversation.
const maxGrown = 256 << 10

// pluginMessage is a message in OpenCode's form: that of the model has its calls with their results.
type pluginMessage struct {
	Info  map[string]any `json:"info"`
	Parts []messageItem  `json:"parts"`
}

// text returns a field of the message's info.
func (m pluginMessage) text(field string) string {
	text, _ := m.Info[field].(string)
	return text
}

type messageItem struct {
	ID        string     `json:"id"`
	SessionID string     `json:"sessionID"`
	MessageID string     `json:"messageID"`
	Type      string     `json:"type"` // text, reasoning, file, tool
	Text      string     `json:"text,omitempty"`
	MIME      string     `json:"mime,omitempty"`
	Filename  string     `json:"filename,omitempty"`
	URL       string     `json:"url,omitempty"`
	CallID    string     `json:"callID,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	State     *callState `json:"state,omitempty"`
}

type callState struct {
	Status   string          `json:"status"` // completed, error
	Input    json.RawMessage `json:"input"`
	Output   string          `json:"output"`
	Error    string          `json:"error,omitempty"`
	Title    string          `json:"title"`
	Metadata map[string]any  `json:"metadata"`
	Time     map[string]int  `json:"time"`
}

// messages calls the hook for the messages of a request. The result has a result for each call; if
// what plugins return has not, it is the conversation.
func (c *chat) messages(ctx context.Context, conversation []model.Message) []model.Message {
	type output struct {
		Messages []pluginMessage `json:"messages"`
	}
	b := rebuilt{chat: c, of: map[string]int{}, conversation: conversation}
	given := []pluginMessage{}
	for i, m := range conversation {
		if m.Role != model.ToolRole {
			b.of[m.ID] = i
			given = append(given, c.pluginMessage(m, results(conversation, i)))
		}
	}
	for _, m := range change(ctx, c, hookMessages, nil, output{given}).Messages {
		b.add(m)
	}
	if err := b.check(); err != nil {
		c.warn(hookMessages, err.Error()+"; the messages are sent without its changes")
		return conversation
	}
	return b.messages
}

// results returns the results of the calls of the message at an index.
func results(conversation []model.Message, at int) []model.Message {
	end := at + 1
	for end < len(conversation) && conversation[end].Role == model.ToolRole {
		end++
	}
	return conversation[at+1 : end]
}

// pluginMessage returns a message and the results of its calls in OpenCode's form, without the
// data of attachments.
func (c *chat) pluginMessage(m model.Message, done []model.Message) pluginMessage {
	made := pluginMessage{Info: map[string]any{
		"id": m.ID, "sessionID": c.session, "role": string(m.Role), "agent": c.agent, "time": map[string]int{"created": 0},
		"model": map[string]any{"providerID": c.provider, "modelID": c.model}, "modelID": c.model, "providerID": c.provider,
	}, Parts: []messageItem{}}
	add := func(p messageItem) {
		p.ID, p.SessionID, p.MessageID = fmt.Sprintf("%s_%d", m.ID, len(made.Parts)), c.session, m.ID
		made.Parts = append(made.Parts, p)
	}
	if m.Reasoning != "" {
		add(messageItem{Type: "reasoning", Text: m.Reasoning})
	}
	if m.Text != "" {
		add(messageItem{Type: "text", Text: m.Text})
	}
	for n, a := range m.Attachments {
		add(messageItem{Type: "file", MIME: a.MIME, Filename: a.Name, URL: attachmentURL(n)})
	}
	for _, call := range m.Calls {
		at := ofCallID(done, call.ID)
		if at < 0 {
			continue
		}
		state := &callState{Status: "completed", Input: inputOf(call), Output: done[at].Text, Title: call.Name, Metadata: map[string]any{}, Time: map[string]int{"start": 0, "end": 0}}
		if done[at].Failed {
			state.Status, state.Output, state.Error = "error", "", done[at].Text
		}
		add(messageItem{Type: "tool", CallID: call.ID, Tool: call.Name, State: state})
	}
	return made
}

func attachmentURL(n int) string { return fmt.Sprintf("attachment:%d", n) }

// ofCallID returns the index of the result of a call, or -1.
func ofCallID(results []model.Message, id string) int {
	return slices.IndexFunc(results, func(r model.Message) bool { return r.CallID == id })
}

// inputOf returns the arguments of a call as an object.
func inputOf(call model.ToolCall) json.RawMessage {
	if jsontext.IsObject(json.RawMessage(call.Input)) {
		return json.RawMessage(call.Input)
	}
	return json.RawMessage("{}")
}

// rebuilt is a conversation that is made of what plugins returned.
type rebuilt struct {
	chat         *chat
	conversation []model.Message
	of           map[string]int // index of a message that was not added yet, by its id
	messages     []model.Message
	failed       error
}

func (b *rebuilt) add(m pluginMessage) {
	id := m.text("id")
	at, known := b.of[id]
	delete(b.of, id)
	switch role := model.Role(m.text("role")); {
	case known && b.conversation[at].Role == model.Assistant:
		b.addResponse(m, b.conversation[at], results(b.conversation, at))
	case known:
		b.addPrompt(m, b.conversation[at])
	case role == model.User || role == model.Assistant:
		b.addPrompt(m, model.Message{Role: role})
	default:
		b.failed = fmt.Errorf("it added a message with the role %q", role)
	}
}

// addPrompt adds a message without calls, unless it is empty.
func (b *rebuilt) addPrompt(m pluginMessage, own model.Message) {
	made := own
	var texts []string
	var files []model.Attachment
	for _, p := range m.Parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "file":
			for n, a := range own.Attachments {
				if p.URL == attachmentURL(n) {
					files = append(files, a)
				}
			}
		case "tool":
			b.failed = errCalls
		}
	}
	if made.Text = strings.Join(texts, "\n\n"); len(files) != len(own.Attachments) {
		made.Attachments = files
	}
	if strings.TrimSpace(made.Text) != "" || len(made.Attachments) > 0 {
		b.messages = append(b.messages, made)
	}
}

// errCalls is why changed messages are not sent.
var errCalls = errors.New("its calls are not those of the conversation")

// addResponse adds a message of the model with the results of its calls, unless it is empty. A call
// is removed with its result.
func (b *rebuilt) addResponse(m pluginMessage, own model.Message, done []model.Message) {
	made, replies := own, []model.Message{}
	made.Calls = nil
	var texts []string
	for _, p := range m.Parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "tool":
			call := slices.IndexFunc(own.Calls, func(c model.ToolCall) bool { return c.ID == p.CallID })
			at := ofCallID(done, p.CallID)
			if call < 0 || at < 0 || p.State == nil || ofCallID(replies, p.CallID) >= 0 {
				b.failed = errCalls
				return
			}
			c, r := own.Calls[call], done[at]
			if jsontext.IsObject(p.State.Input) && !jsontext.Same(p.State.Input, inputOf(c)) {
				c.Input = string(p.State.Input)
			}
			if r.Text = p.State.Output; p.State.Status == "error" {
				r.Text = p.State.Error
			}
			made.Calls, replies = append(made.Calls, c), append(replies, r)
		}
	}
	if made.Text = strings.Join(texts, "\n\n"); own.State != nil && (made.Text != own.Text || !slices.Equal(made.Calls, own.Calls)) {
		b.chat.warn(hookMessages, "a response with encrypted or signed reasoning is sent as it was received, or left out")
		all := slices.Clone(done)
		for i, r := range all {
			if at := ofCallID(replies, r.CallID); at >= 0 {
				all[i] = replies[at]
			}
		}
		made, replies = own, all
	}
	if made.Text != "" || len(made.Calls) > 0 || made.State != nil {
		b.messages = append(append(b.messages, made), replies...)
	}
}

// check returns an error for messages that providers do not accept, or that are too long.
func (b *rebuilt) check() error {
	size := func(all []model.Message) (sum int) {
		for _, m := range all {
			sum += len(m.Text)
			for _, c := range m.Calls {
				sum += len(c.Input)
			}
		}
		return sum
	}
	grown := size(b.messages) - size(b.conversation)
	switch {
	case b.failed != nil:
		return b.failed
	case len(b.messages) == 0 || b.messages[0].Role != model.User:
		return errors.New("its first message is not a prompt")
	case b.messages[len(b.messages)-1].Role == model.Assistant:
		return errors.New("its last message is one of the model")
	case grown > maxGrown:
		return fmt.Errorf("it added %d bytes, more than %d", grown, maxGrown)
	}
	return nil
}
