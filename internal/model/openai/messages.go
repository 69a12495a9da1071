package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// group is one turn's tool results, because their attachments
// follow the last one; and consecutive user messages if these must be merged.
func (c *chat) group(list []model.Message) int {
	role := list[0].Role
	if role != model.ToolRole && (role != model.User || !c.dialect.Alternate) {
		return 1
	}
	n := 1
	for n < len(list) && list[n].Role == role {
		n++
	}
	return n
}

// encode implements the Encode of [wire.Histories].
func (c *chat) encode(dst []byte, all []model.Message, from, to int) ([]byte, error) {
	var err error
	for _, m := range c.messages(all, from, to) {
		if dst, err = wire.AppendElement(dst, m); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// The elements of a message's content.
type (
	element     = sdk.ChatCompletionContentPartUnionParam
	textElement = sdk.ChatCompletionContentPartTextParam
)

// messages encodes a group of messages.
func (c *chat) messages(all []model.Message, from, to int) []sdk.ChatCompletionMessageParamUnion {
	var list []sdk.ChatCompletionMessageParamUnion
	switch all[from].Role {
	case model.Assistant:
		return []sdk.ChatCompletionMessageParamUnion{c.assistant(all[from])}
	case model.ToolRole:
		list = c.results(all[from:to])
	default:
		if c.dialect.Bridge && from > 0 && all[from-1].Role == model.ToolRole {
			list = append(list, sdk.AssistantMessage(bridge))
		}
		list = append(list, c.user(all[from:to]))
	}
	return list
}

// bridge is the text of assistant messages that the server requires.
const bridge = "Understood."

func (c *chat) results(group []model.Message) []sdk.ChatCompletionMessageParamUnion {
	var list []sdk.ChatCompletionMessageParamUnion
	var attached []element
	for _, m := range group {
		list = append(list, sdk.ToolMessage(m.Text+c.refused(m.Attachments), c.id(m.CallID)))
		attached = append(attached, c.attached(m.Attachments)...)
	}
	if len(attached) == 0 {
		return list
	}
	if c.dialect.Bridge {
		list = append(list, sdk.AssistantMessage(bridge))
	}
	elements := append([]element{sdk.TextContentPart("What the tools' results refer to:")}, attached...)
	return append(list, sdk.UserMessage(elements))
}

func (c *chat) user(group []model.Message) sdk.ChatCompletionMessageParamUnion {
	var texts []string
	var attached []element
	for _, m := range group {
		texts = append(texts, m.Text+c.refused(m.Attachments))
		attached = append(attached, c.attached(m.Attachments)...)
	}
	text := strings.Join(texts, "\n\n")
	if len(attached) == 0 {
		return sdk.UserMessage(text)
	}
	return sdk.UserMessage(append([]element{sdk.TextContentPart(text)}, attached...))
}

// supports reports whether the server accepts an attachment.
func (c *chat) supports(a model.Attachment) bool {
	switch {
	case strings.HasPrefix(a.MIME, "image/"):
		return c.dialect.Images && len(a.Data) > 0
	case a.MIME == "application/pdf":
		return c.dialect.Files && len(a.Data) > 0
	}
	return false
}

func (c *chat) attached(list []model.Attachment) []element {
	var elements []element
	for _, a := range list {
		if !c.supports(a) {
			continue
		}
		if a.MIME == "application/pdf" {
			elements = append(elements, sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{
				Filename: param.NewOpt(cmp.Or(a.Name, "attachment.pdf")), FileData: param.NewOpt(dataURL(a)),
			}))
			continue
		}
		elements = append(elements, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: dataURL(a)}))
	}
	return elements
}

func dataURL(a model.Attachment) string {
	return "data:" + a.MIME + ";base64," + base64.StdEncoding.EncodeToString(a.Data)
}

// refused is the text for attachments that the model can't see.
func (c *chat) refused(list []model.Attachment) string {
	var text strings.Builder
	for _, a := range list {
		if !c.supports(a) {
			text.WriteString(wire.OmittedAttachment(a))
		}
	}
	return text.String()
}

// chatState is the data that a server of Chat Completions expects back.
type chatState struct {
	Details json.RawMessage            `json:"reasoning_details,omitempty"`
	Calls   map[string]json.RawMessage `json:"calls,omitempty"` // extra_content by call id
}

func (c *chat) stateOf(m model.Message) chatState {
	var s chatState
	if m.State != nil && m.State.Wire == c.state {
		_ = json.Unmarshal(m.State.Data, &s) // it was encoded by Conclude
	}
	return s
}

// unsigned is what Google documents as the signature of calls that another model made.
const unsigned = "skip_thought_signature_validator"

// sign adds a signature to the first call of a message, where servers expect it, if the
// message was received from another model, and so has none.
func (r Reasoning) sign(s *chatState, id string) {
	switch {
	case r == ReasoningSignatures && s.Calls == nil:
		s.Calls = map[string]json.RawMessage{id: json.RawMessage(`{"google":{"thought_signature":"` + unsigned + `"}}`)}
	case r == ReasoningDetails && s.Details == nil:
		entry := map[string]any{"type": "reasoning.encrypted", "data": unsigned, "id": id, "format": "google-gemini-v1", "index": 0}
		s.Details, _ = json.Marshal([]any{entry}) // strings and a number can be encoded
	}
}

// assistant returns the calls as the model wrote them, even invalid JSON: otherwise
// the error in the result would not match. Missing arguments become an empty object,
// without which some servers reject the request.
func (c *chat) assistant(m model.Message) sdk.ChatCompletionMessageParamUnion {
	var p sdk.ChatCompletionAssistantMessageParam
	if m.Text != "" || len(m.Calls) == 0 {
		p.Content.OfString = param.NewOpt(m.Text)
	}
	state := c.stateOf(m)
	if c.dialect.Signed && len(m.Calls) > 0 {
		c.dialect.Reasoning.sign(&state, m.Calls[0].ID)
	}
	for _, made := range m.Calls {
		f := &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: c.id(made.ID),
			Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name:      made.Name,
				Arguments: c.arguments(made.Input),
			},
		}
		if extra := state.Calls[made.ID]; extra != nil {
			f.SetExtraFields(map[string]any{"extra_content": extra})
		}
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: f})
	}
	switch {
	case c.dialect.Reasoning == ReasoningContent && (len(m.Calls) > 0 || m.Reasoning != ""):
		p.SetExtraFields(map[string]any{"reasoning_content": m.Reasoning})
	case c.dialect.Reasoning == ReasoningDetails && state.Details != nil:
		p.SetExtraFields(map[string]any{"reasoning_details": state.Details})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &p}
}

func (c *chat) arguments(input string) string {
	if c.dialect.Objects {
		return string(wire.Object(input))
	}
	return wire.Arguments(input)
}

// id returns a call's id in the form that the server accepts.
func (c *chat) id(id string) string {
	if c.dialect.ShortIDs {
		return shortID(id)
	}
	return id
}

const shortLength = 9

// shortID returns an id of nine letters and digits, derived from the given one.
func shortID(id string) string {
	outside := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if len(id) == shortLength && !strings.ContainsFunc(id, outside) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return strings.Repeat("0", max(0, shortLength-len(text))) + text[:min(shortLength, len(text))]
}

// markedTurns is the number of user turns marked for the cache.
const markedTurns = 2

// split returns the number of messages before the marked ones.
func (c *chat) split(all []model.Message) int {
	if !c.dialect.CacheMarks {
		return len(all)
	}
	return wire.LastTurns(all, c.group, markedTurns)
}

// encodeMarked encodes a group like encode, with a mark at its end.
func (c *chat) encodeMarked(dst []byte, all []model.Message, from, to int) ([]byte, error) {
	list := c.messages(all, from, to)
	mark(&list[len(list)-1])
	var err error
	for _, m := range list {
		if dst, err = wire.AppendElement(dst, m); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

var ephemeral = map[string]any{"cache_control": map[string]any{"type": "ephemeral"}}

// mark marks the text of a message as the end of the cached prefix. Assistant
// messages are not changed.
func mark(m *sdk.ChatCompletionMessageParamUnion) {
	marked := func(text param.Opt[string]) *textElement {
		p := &textElement{Text: text.Value}
		p.SetExtraFields(ephemeral)
		return p
	}
	switch {
	case m.OfSystem != nil:
		c := &m.OfSystem.Content
		c.OfArrayOfContentParts = []textElement{*marked(c.OfString)}
		c.OfString = param.Opt[string]{}
	case m.OfTool != nil && m.OfTool.Content.OfString.Value != "":
		c := &m.OfTool.Content
		c.OfArrayOfContentParts = []textElement{*marked(c.OfString)}
		c.OfString = param.Opt[string]{}
	case m.OfUser != nil && m.OfUser.Content.OfString.Value != "":
		c := &m.OfUser.Content
		c.OfArrayOfContentParts = []element{{OfText: marked(c.OfString)}}
		c.OfString = param.Opt[string]{}
	case m.OfUser != nil && len(m.OfUser.Content.OfArrayOfContentParts) > 0: // the text is the first element
		m.OfUser.Content.OfArrayOfContentParts[0].OfText.SetExtraFields(ephemeral)
	}
}

// system encodes the system prompt; without one it returns nil.
func (c *chat) system(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	m := sdk.SystemMessage(text)
	if c.dialect.CacheMarks {
		mark(&m)
	}
	return wire.AppendElement(nil, m)
}
