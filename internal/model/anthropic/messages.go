package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// group is all messages between two responses: the results of one turn must be
// in one message.
func group(list []model.Message) int {
	if list[0].Role == model.Assistant {
		return 1
	}
	n := 1
	for n < len(list) && list[n].Role != model.Assistant {
		n++
	}
	return n
}

// encode implements the Encode of [wire.Histories].
func (c *client) encode(dst []byte, all []model.Message, from, to int) ([]byte, error) {
	return wire.AppendElement(dst, c.message(all[from:to]))
}

// message encodes a group of messages.
func (c *client) message(group []model.Message) message {
	if group[0].Role == model.Assistant {
		return message{c.assistantBlocks(group[0]), "assistant"}
	}
	var results, rest []contentBlock
	for _, m := range group {
		if m.Role == model.ToolRole {
			results = append(results, result(m))
		} else {
			rest = append(rest, userBlocks(m)...)
		}
	}
	return message{append(results, rest...), "user"}
}

// markedTurns is the number of user turns marked for the cache.
const markedTurns = 2

// encodeMarked encodes a group like encode, with a mark at the end of user messages.
func (c *client) encodeMarked(dst []byte, all []model.Message, from, to int) ([]byte, error) {
	m := c.message(all[from:to])
	if all[from].Role != model.Assistant {
		m.Content[len(m.Content)-1].CacheControl = ephemeral
	}
	return wire.AppendElement(dst, m)
}

// spoken returns a text in a form that the API accepts.
func spoken(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return text
}

func userBlocks(m model.Message) []contentBlock {
	text, files := attached(m) // the provider expects files before the question
	return append(files, textBlock(spoken(text)))
}

func result(m model.Message) contentBlock {
	text, content := attached(m)
	if strings.TrimSpace(text) != "" {
		content = slices.Insert(content, 0, textBlock(text))
	}
	return contentBlock{ToolUseID: callID(m.CallID), IsError: m.Failed, Content: content, Type: "tool_result"}
}

// attached returns the text of a message and the supported attachments.
func attached(m model.Message) (text string, files []contentBlock) {
	text = m.Text
	for _, a := range m.Attachments {
		kind := ""
		switch a.MIME {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			kind = "image"
		case "application/pdf":
			kind = "document"
		}
		if kind == "" || len(a.Data) == 0 {
			text += wire.OmittedAttachment(a)
			continue
		}
		data := base64.StdEncoding.EncodeToString(a.Data)
		files = append(files, contentBlock{Source: &source{data, a.MIME, "base64"}, Type: kind})
	}
	return text, files
}

// assistantBlocks returns the blocks of a response as received if they are known,
// or else blocks built from the message.
func (c *client) assistantBlocks(m model.Message) []contentBlock {
	if blocks := c.remembered(m); blocks != nil {
		return blocks
	}
	var blocks []contentBlock
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		blocks = append(blocks, textBlock(spoken(m.Text)))
	}
	for _, made := range m.Calls {
		blocks = append(blocks, toolUse(made))
	}
	return blocks
}

func toolUse(made model.ToolCall) contentBlock {
	return contentBlock{ID: callID(made.ID), Input: wire.Object(made.Input), Name: &made.Name, Type: "tool_use"}
}

// block is a response's block in a message's state: thinking
// with its signature, text, or a reference to one of the message's calls.
type block struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Call      int    `json:"call,omitempty"`
}

// remembered returns the blocks of a message with thinking, or nil if they are
// unknown or the message was changed.
func (c *client) remembered(m model.Message) []contentBlock {
	if m.State == nil || m.State.Wire != c.state {
		return nil
	}
	var state []block
	if json.Unmarshal(m.State.Data, &state) != nil {
		return nil
	}
	var blocks []contentBlock
	calls := 0
	for _, b := range state {
		switch b.Type {
		case "thinking":
			blocks = append(blocks, contentBlock{Signature: b.Signature, Thinking: &b.Text, Type: b.Type})
		case "redacted_thinking":
			blocks = append(blocks, contentBlock{Data: b.Text, Type: b.Type})
		case "text":
			blocks = append(blocks, textBlock(b.Text))
		case "tool_use":
			if b.Call >= len(m.Calls) || b.Call < 0 {
				return nil
			}
			calls++
			blocks = append(blocks, toolUse(m.Calls[b.Call]))
		}
	}
	if calls != len(m.Calls) {
		return nil
	}
	return blocks
}

// callID returns a call's id in the form that the API accepts. It is deterministic.
func callID(id string) string {
	outside := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-'
	}
	if id != "" && !strings.ContainsFunc(id, outside) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
