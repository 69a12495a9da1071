package wiretest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
)

// object is a JSON object whose fields are encoded in the order of their names.
type object = map[string]any

// typed writes events that bear their type in the head and in the data, as
// Responses and Messages have it.
type typed struct {
	bytes.Buffer
	numbered bool // each has a sequence_number
	n        int
}

func (w *typed) event(kind string, fields object) {
	fields["type"] = kind
	if w.numbered {
		fields["sequence_number"] = w.n
		w.n++
	}
	data, _ := json.Marshal(fields) // such values can always be encoded
	w.WriteString("event: " + kind + "\ndata: ")
	w.Write(data)
	w.WriteString("\n\n")
}

// streamResponses returns the bytes of a response on OpenAI's Responses.
func streamResponses(req Request, turn *script.Turn, chunk int) []byte {
	out := &typed{numbered: true}
	response := func(status string) object {
		return object{"id": "resp_script", "object": "response", "created_at": 0, "model": req.Model, "status": status, "output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil}
	}
	out.event("response.created", object{"response": response("in_progress")})
	out.event("response.in_progress", object{"response": response("in_progress")})
	var items []any
	if turn.Reasoning != "" {
		items = append(items, out.reasoning(len(items), turn.Reasoning, chunk))
	}
	if turn.Text != "" || len(turn.Calls) == 0 {
		items = append(items, out.message(len(items), turn.Text, chunk))
	}
	for _, c := range turn.Calls {
		items = append(items, out.functionCall(len(items), c, chunk))
	}
	end, kind := response("completed"), "response.completed"
	switch turn.Finish {
	case model.FinishLength:
		end, kind = response("incomplete"), "response.incomplete"
		end["incomplete_details"] = object{"reason": "max_output_tokens"}
	case model.FinishFilter:
		end, kind = response("incomplete"), "response.incomplete"
		end["incomplete_details"] = object{"reason": "content_filter"}
	default:
	}
	end["output"] = items
	if u := turn.Usage; u != nil {
		end["usage"] = object{
			"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		}
	}
	out.event(kind, object{"response": end})
	return out.Bytes()
}

func (w *typed) reasoning(index int, text string, chunk int) object {
	id := "rs_script"
	w.event("response.output_item.added", object{"output_index": index, "item": object{"type": "reasoning", "id": id, "summary": []any{}}})
	w.event("response.reasoning_summary_part.added", object{"output_index": index, "item_id": id, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
	for s := range chunks(text, chunk) {
		w.event("response.reasoning_summary_text.delta", object{"output_index": index, "item_id": id, "summary_index": 0, "delta": s})
	}
	w.event("response.reasoning_summary_text.done", object{"output_index": index, "item_id": id, "summary_index": 0, "text": text})
	item := object{"type": "reasoning", "id": id, "summary": []any{object{"type": "summary_text", "text": text}}, "encrypted_content": Sealed(text)}
	w.event("response.output_item.done", object{"output_index": index, "item": item})
	return item
}

// Sealed is what a scripted provider gives out in place of reasoning that it
// keeps to itself: encrypted content, or a signature.
func Sealed(reasoning string) string {
	return "sealed:" + base64.StdEncoding.EncodeToString([]byte(reasoning))
}

func (w *typed) message(index int, text string, chunk int) object {
	id := "msg_script"
	content := func(s string) object {
		return object{"type": "output_text", "text": s, "annotations": []any{}}
	}
	item := func(status string, content ...any) object {
		return object{"type": "message", "id": id, "role": "assistant", "status": status, "content": append([]any{}, content...)}
	}
	w.event("response.output_item.added", object{"output_index": index, "item": item("in_progress")})
	at := func(fields object) object {
		fields["output_index"], fields["content_index"], fields["item_id"] = index, 0, id
		return fields
	}
	w.event("response.content_part.added", at(object{"part": content("")}))
	for s := range chunks(text, chunk) {
		w.event("response.output_text.delta", at(object{"delta": s}))
	}
	w.event("response.output_text.done", at(object{"text": text}))
	w.event("response.content_part.done", at(object{"part": content(text)}))
	done := item("completed", content(text))
	w.event("response.output_item.done", object{"output_index": index, "item": done})
	return done
}

func (w *typed) functionCall(index int, c model.ToolCall, chunk int) object {
	item := func(status, arguments string) object {
		return object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": arguments, "status": status}
	}
	w.event("response.output_item.added", object{"output_index": index, "item": item("in_progress", "")})
	for s := range chunks(c.Input, chunk) {
		w.event("response.function_call_arguments.delta", object{"output_index": index, "item_id": "fc_" + c.ID, "delta": s})
	}
	w.event("response.function_call_arguments.done", object{"output_index": index, "item_id": "fc_" + c.ID, "arguments": c.Input})
	done := item("completed", c.Input)
	w.event("response.output_item.done", object{"output_index": index, "item": done})
	return done
}

// streamMessages returns the bytes of a response on Anthropic's Messages.
func streamMessages(req Request, turn *script.Turn, chunk int) []byte {
	out := &typed{}
	start := object{"id": "msg_script", "type": "message", "role": "assistant", "model": req.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	final := object{}
	if u := turn.Usage; u != nil {
		usage := object{"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite, "output_tokens": 1}
		start["usage"] = usage
		final = object{"output_tokens": u.Output, "output_tokens_details": object{"thinking_tokens": u.Reasoning}}
	}
	out.event("message_start", object{"message": start})
	index := 0
	block := func(head object, deltas ...object) {
		out.event("content_block_start", object{"index": index, "content_block": head})
		if index == 0 {
			out.event("ping", object{})
		}
		for _, d := range deltas {
			out.event("content_block_delta", object{"index": index, "delta": d})
		}
		out.event("content_block_stop", object{"index": index})
		index++
	}
	split := func(text, kind, field string) (list []object) {
		for s := range chunks(text, chunk) {
			list = append(list, object{"type": kind, field: s})
		}
		return list
	}
	if turn.Reasoning != "" {
		deltas := split(turn.Reasoning, "thinking_delta", "thinking")
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": Sealed(turn.Reasoning)})...)
	}
	if turn.Text != "" {
		block(object{"type": "text", "text": ""}, split(turn.Text, "text_delta", "text")...)
	}
	for _, c := range turn.Calls {
		deltas := append([]object{{"type": "input_json_delta", "partial_json": ""}}, split(c.Input, "input_json_delta", "partial_json")...)
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	stop := map[model.Finish]string{
		model.FinishStop: "end_turn", model.FinishTools: "tool_use", model.FinishLength: "max_tokens", model.FinishFilter: "refusal",
	}[turn.Finish]
	out.event("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": final})
	out.event("message_stop", object{})
	return out.Bytes()
}
