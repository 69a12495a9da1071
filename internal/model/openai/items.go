package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

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
func itemsOf(m model.Message) []responses.ResponseInputItemUnionParam {
	switch m.Role {
	case model.Assistant:
		var list []responses.ResponseInputItemUnionParam
		if m.Text != "" || len(m.Calls) == 0 {
			list = append(list, responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleAssistant))
		}
		for _, c := range m.Calls {
			list = append(list, responses.ResponseInputItemParamOfFunctionCall(wire.Arguments(c.Input), c.ID, c.Name))
		}
		return list
	case model.ToolRole:
		return []responses.ResponseInputItemUnionParam{result(m)}
	default:
		content := contentOf(m)
		if len(content) == 1 {
			return []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(content[0].OfInputText.Text, responses.EasyInputMessageRoleUser)}
		}
		return []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)}
	}
}

// contentOf encodes a text and its attachments.
func contentOf(m model.Message) responses.ResponseInputMessageContentListParam {
	text, taken := m.Text, m.Attachments[:0:0]
	for _, a := range m.Attachments {
		if len(a.Data) > 0 && (strings.HasPrefix(a.MIME, "image/") || a.MIME == "application/pdf") {
			taken = append(taken, a)
		} else {
			text += wire.OmittedAttachment(a)
		}
	}
	list := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(text)}
	for _, a := range taken {
		if a.MIME == "application/pdf" {
			list = append(list, responses.ResponseInputContentUnionParam{OfInputFile: &responses.ResponseInputFileParam{
				Filename: param.NewOpt(cmp.Or(a.Name, "attachment.pdf")), FileData: param.NewOpt(dataURL(a)),
			}})
			continue
		}
		image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		image.OfInputImage.ImageURL = param.NewOpt(dataURL(a))
		list = append(list, image)
	}
	return list
}

// result encodes the output of a call with its attachments.
func result(m model.Message) responses.ResponseInputItemUnionParam {
	content := contentOf(m)
	text := content[0].OfInputText.Text
	if len(content) == 1 {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(text)
		item.OfFunctionCallOutput.CallID = param.NewOpt(m.CallID)
		return item
	}
	list := responses.ResponseFunctionCallOutputItemListParam{responses.ResponseFunctionCallOutputItemParamOfInputText(text)}
	for _, element := range content[1:] {
		if f := element.OfInputFile; f != nil {
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputFile: &responses.ResponseInputFileContentParam{Filename: f.Filename, FileData: f.FileData}})
			continue
		}
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: element.OfInputImage.ImageURL}})
	}
	item := responses.ResponseInputItemParamOfFunctionCallOutput(list)
	item.OfFunctionCallOutput.CallID = param.NewOpt(m.CallID)
	return item
}
