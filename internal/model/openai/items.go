package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// encode implements the Encode of [wire.Histories].
func (r *responder) encode(dst []byte, all []model.Message, from, _ int) ([]byte, error) {
	m := all[from]
	if items := r.remembered(m); items != nil {
		for _, item := range items {
			dst = append(append(dst, ','), item...)
		}
		return dst, nil
	}
	var err error
	for _, item := range itemsOf(m) {
		if dst, err = wire.AppendElement(dst, item); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// remembered returns the items of a message as the API sent them, or nil if they
// are unknown or the message was changed.
func (r *responder) remembered(m model.Message) []json.RawMessage {
	if m.State == nil || m.State.Wire != r.state {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(m.State.Data, &items) != nil {
		return nil
	}
	var ids []string
	for i, raw := range items {
		var item struct {
			Type   string
			CallID string `json:"call_id"`
		}
		var compact bytes.Buffer
		if json.Unmarshal(raw, &item) != nil || json.Compact(&compact, raw) != nil {
			return nil
		}
		items[i] = compact.Bytes()
		if item.Type == "function_call" {
			ids = append(ids, item.CallID)
		}
	}
	if len(ids) != len(m.Calls) {
		return nil
	}
	for i, c := range m.Calls {
		if c.ID != ids[i] {
			return nil
		}
	}
	return items
}

// itemsOf returns the items of a message.
func itemsOf(m model.Message) []any {
	switch m.Role {
	case model.Assistant:
		var list []any
		if m.Text != "" || len(m.Calls) == 0 {
			list = append(list, inputMessage{Content: m.Text, Role: "assistant"})
		}
		for _, c := range m.Calls {
			list = append(list, inputCall{wire.Arguments(c.Input), c.ID, c.Name, "function_call"})
		}
		return list
	case model.ToolRole:
		return []any{inputResult{contentOf(m, ""), m.CallID, "function_call_output"}}
	default:
		return []any{inputMessage{Content: contentOf(m, "auto"), Role: "user"}}
	}
}

// contentOf returns a text, with its attachments if it has any. Images have a detail in
// messages only.
func contentOf(m model.Message, detail string) any {
	text := m.Text
	var taken inputParts
	for _, a := range m.Attachments {
		switch {
		case len(a.Data) > 0 && strings.HasPrefix(a.MIME, "image/"):
			taken = append(taken, inputPart{Detail: detail, ImageURL: dataURL(a), Type: "input_image"})
		case len(a.Data) > 0 && a.MIME == "application/pdf":
			taken = append(taken, inputPart{FileData: dataURL(a), Filename: cmp.Or(a.Name, "attachment.pdf"), Type: "input_file"})
		default:
			text += wire.OmittedAttachment(a)
		}
	}
	if len(taken) == 0 {
		return text
	}
	return append(inputParts{{Text: &text, Type: "input_text"}}, taken...)
}
