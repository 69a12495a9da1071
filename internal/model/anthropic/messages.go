package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

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
func (c *client) message(group []model.Message) sdk.MessageParam {
	if group[0].Role == model.Assistant {
		return sdk.NewAssistantMessage(c.assistantBlocks(group[0])...)
	}
	var results, rest []sdk.ContentBlockParamUnion
	for _, m := range group {
		if m.Role == model.ToolRole {
			results = append(results, result(m))
		} else {
			rest = append(rest, userBlocks(m)...)
		}
	}
	return sdk.NewUserMessage(append(results, rest...)...)
}

// markedTurns is the number of user turns marked for the cache.
const markedTurns = 2

// encodeMarked encodes a group like encode, with a mark at the end of user messages.
func (c *client) encodeMarked(dst []byte, all []model.Message, from, to int) ([]byte, error) {
	m := c.message(all[from:to])
	if all[from].Role != model.Assistant {
		mark(m.Content)
	}
	return wire.AppendElement(dst, m)
}

func mark(blocks []sdk.ContentBlockParamUnion) {
	if control := blocks[len(blocks)-1].GetCacheControl(); control != nil {
		*control = sdk.NewCacheControlEphemeralParam()
	}
}

// spoken returns a text in a form that the API accepts.
func spoken(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return text
}

func userBlocks(m model.Message) []sdk.ContentBlockParamUnion {
	text, files := attached(m)
	blocks := make([]sdk.ContentBlockParamUnion, 0, len(files)+1)
	for _, f := range files { // the provider expects them before the question
		blocks = append(blocks, sdk.ContentBlockParamUnion{OfImage: f.OfImage, OfDocument: f.OfDocument})
	}
	return append(blocks, sdk.NewTextBlock(spoken(text)))
}

func result(m model.Message) sdk.ContentBlockParamUnion {
	text, files := attached(m)
	r := &sdk.ToolResultBlockParam{ToolUseID: callID(m.CallID)}
	if m.Failed {
		r.IsError = param.NewOpt(true)
	}
	if strings.TrimSpace(text) != "" {
		r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
	}
	r.Content = append(r.Content, files...)
	return sdk.ContentBlockParamUnion{OfToolResult: r}
}

// attached returns the text of a message and the supported attachments.
func attached(m model.Message) (text string, files []sdk.ToolResultBlockParamContentUnion) {
	text = m.Text
	for _, a := range m.Attachments {
		data := base64.StdEncoding.EncodeToString(a.Data)
		switch {
		case data != "" && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, a.MIME):
			files = append(files, sdk.ToolResultBlockParamContentUnion{OfImage: sdk.NewImageBlockBase64(a.MIME, data).OfImage})
		case data != "" && a.MIME == "application/pdf":
			files = append(files, sdk.ToolResultBlockParamContentUnion{OfDocument: sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data}).OfDocument})
		default:
			text += wire.OmittedAttachment(a)
		}
	}
	return text, files
}

// assistantBlocks returns the blocks of a response as received if they are known,
// or else blocks built from the message.
func (c *client) assistantBlocks(m model.Message) []sdk.ContentBlockParamUnion {
	if blocks := c.remembered(m); blocks != nil {
		return blocks
	}
	var blocks []sdk.ContentBlockParamUnion
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		blocks = append(blocks, sdk.NewTextBlock(spoken(m.Text)))
	}
	for _, made := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(callID(made.ID), wire.Object(made.Input), made.Name))
	}
	return blocks
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
func (c *client) remembered(m model.Message) []sdk.ContentBlockParamUnion {
	if m.State == nil || m.State.Wire != c.state {
		return nil
	}
	var state []block
	if json.Unmarshal(m.State.Data, &state) != nil {
		return nil
	}
	var blocks []sdk.ContentBlockParamUnion
	calls := 0
	for _, b := range state {
		switch b.Type {
		case "thinking":
			blocks = append(blocks, sdk.NewThinkingBlock(b.Signature, b.Text))
		case "redacted_thinking":
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(b.Text))
		case "text":
			blocks = append(blocks, sdk.NewTextBlock(b.Text))
		case "tool_use":
			if b.Call >= len(m.Calls) || b.Call < 0 {
				return nil
			}
			calls++
			made := m.Calls[b.Call]
			blocks = append(blocks, sdk.NewToolUseBlock(callID(made.ID), wire.Object(made.Input), made.Name))
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
