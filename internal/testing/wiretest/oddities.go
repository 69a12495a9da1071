package wiretest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// edit rewrites a stream event by event. change may alter the object, and
// returns false for an event that is to be left out.
func edit(change func(e object) bool) func([]byte) []byte {
	return func(stream []byte) []byte {
		var out bytes.Buffer
		for event := range strings.SplitSeq(strings.TrimRight(string(stream), "\n"), "\n\n") {
			head, data, _ := strings.Cut(event, "data: ")
			var e object
			if json.Unmarshal([]byte(data), &e) == nil {
				if !change(e) {
					continue
				}
				encoded, _ := json.Marshal(e) // it came out of JSON
				data = string(encoded)
			}
			out.WriteString(head + "data: " + data + "\n\n")
		}
		return out.Bytes()
	}
}

func oddity(name string, change func(e object) bool) Case {
	return Case{Name: name, Fault: Fault{Rewrite: edit(change)}}
}

// in returns what lies at a path of names in an object; a number of a list is
// its first element.
func in(e object, path ...string) object {
	for _, name := range path {
		switch v := e[name].(type) {
		case object:
			e = v
		case []any:
			if len(v) == 0 {
				return object{}
			}
			e, _ = v[0].(object)
		default:
			return object{}
		}
	}
	return e
}

// swapped moves the events of what stands second before those of what stands
// first, in the places of these.
func swapped(name string, first, second func(e object) bool) Case {
	return Case{Name: name, Fault: Fault{Rewrite: func(stream []byte) []byte {
		var before, ones, others, behind []string
		for event := range strings.SplitSeq(strings.TrimRight(string(stream), "\n"), "\n\n") {
			_, data, _ := strings.Cut(event, "data: ")
			var e object
			_ = json.Unmarshal([]byte(data), &e) // else it is neither
			switch {
			case first(e):
				ones = append(ones, event)
			case second(e):
				others = append(others, event)
			case len(ones)+len(others) == 0:
				before = append(before, event)
			default:
				behind = append(behind, event)
			}
		}
		return []byte(strings.Join(slices.Concat(before, others, ones, behind), "\n\n") + "\n\n")
	}}}
}

// numbered distinguishes events by a number in them.
func numbered(field string, n float64) func(object) bool {
	return func(e object) bool { return e[field] == n }
}

// renamed marks a case whose calls get ids of our own.
func renamed(c Case) Case {
	c.Renamed = true
	return c
}

// garbled marks a case that can't be understood.
func garbled(c Case) Case {
	c.Class = model.ClassProtocol
	return c
}

// uncounted marks a case whose usage is not known.
func uncounted(c Case) Case {
	c.Uncounted = true
	return c
}

// call is the tool call of a chunk of Chat Completions, or an empty object.
func call(e object) object { return in(e, "choices", "delta", "tool_calls") }

func chatOddities() []Case {
	late := func(field string) func(object) bool {
		var held any
		return func(e object) bool {
			c := call(e)
			target := c
			if field == "name" {
				target = in(c, "function")
			}
			if v, ok := target[field]; ok && v != "" {
				held = v
				delete(target, field)
			} else if held != nil && len(target) > 0 {
				target[field] = held
				held = nil
			}
			return true
		}
	}
	list := []Case{
		oddity("no-index", func(e object) bool { delete(call(e), "index"); return true }),
		oddity("null-fields", func(e object) bool {
			e["error"] = nil
			if d := in(e, "choices", "delta"); len(d) > 0 && d["content"] == nil {
				d["content"], d["refusal"] = nil, nil
			}
			return true
		}),
		oddity("empty-choices", func(e object) bool { e["prompt_filter_results"] = []any{object{}}; return true }),
		oddity("finish-stop", func(e object) bool {
			if c := in(e, "choices"); c["finish_reason"] == "tool_calls" {
				c["finish_reason"] = "stop"
			}
			return true
		}),
		oddity("finish-unknown", func(e object) bool {
			if c := in(e, "choices"); c["finish_reason"] != nil {
				c["finish_reason"] = "eos"
			}
			return true
		}),
		oddity("finish-missing", func(e object) bool { delete(in(e, "choices"), "finish_reason"); return true }),
		oddity("usage-twice", func(e object) bool {
			if e["usage"] == nil {
				e["usage"] = object{"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
			}
			return true
		}),
		oddity("usage-missing", func(e object) bool { return e["usage"] == nil }),
		oddity("usage-zero", func(e object) bool {
			if e["usage"] != nil {
				e["usage"] = object{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
			}
			return true
		}),
		oddity("choices-object", func(e object) bool { e["choices"] = object{"delta": object{}}; return true }),
		swapped("index-order", func(e object) bool { return call(e)["index"] == 0.0 }, func(e object) bool { return call(e)["index"] == 1.0 }),
		oddity("index-same", func(e object) bool {
			if c := call(e); len(c) > 0 {
				c["index"] = 0
			}
			return true
		}),
		renamed(oddity("id-never", func(e object) bool { delete(call(e), "id"); return true })),
		renamed(oddity("id-same", func(e object) bool {
			if c := call(e); c["id"] != nil {
				c["id"] = "call_same"
			}
			return true
		})),
		garbled(oddity("name-never", func(e object) bool { delete(in(call(e), "function"), "name"); return true })),
		uncounted(oddity("usage-negative", func(e object) bool {
			if e["usage"] != nil {
				e["usage"] = object{"prompt_tokens": -5, "completion_tokens": 1 << 50, "total_tokens": 1}
			}
			return true
		})),
		garbled(oddity("calls-object", func(e object) bool {
			if d := in(e, "choices", "delta"); d["tool_calls"] != nil {
				d["tool_calls"] = "none"
			}
			return true
		})),
		{Name: "no-done", Fault: Fault{Rewrite: func(b []byte) []byte { return bytes.Replace(b, []byte("data: [DONE]\n\n"), nil, 1) }}},
		{Name: "id-late", Fault: Fault{Rewrite: func(b []byte) []byte { return edit(late("id"))(b) }}},
		{Name: "name-late", Fault: Fault{Rewrite: func(b []byte) []byte { return edit(late("name"))(b) }}},
		{Name: "call-whole", Fault: Fault{Rewrite: completeCalls}},
	}
	for i := range list {
		switch list[i].Name {
		case "usage-missing", "usage-zero":
			list[i].Uncounted = true
		case "choices-object":
			list[i].Class = model.ClassProtocol
		}
	}
	return list
}

// completeCalls sends every call in one chunk, all with the index 0, and without
// the pieces.
func completeCalls(stream []byte) []byte {
	inputs := map[any]string{}
	edit(func(e object) bool {
		if f := in(call(e), "function"); f["arguments"] != nil {
			inputs[call(e)["index"]] += f["arguments"].(string)
		}
		return true
	})(stream)
	return edit(func(e object) bool {
		c := call(e)
		if len(c) == 0 {
			return true
		}
		if c["id"] == nil {
			return false
		}
		in(c, "function")["arguments"] = inputs[c["index"]]
		c["index"] = 0
		return true
	})(stream)
}

func messagesOddities() []Case {
	list := []Case{
		oddity("no-index", func(e object) bool { delete(e, "index"); return true }),
		oddity("no-type", func(e object) bool { delete(e, "type"); return true }),
		oddity("no-stop", func(e object) bool { return e["type"] != "message_stop" }),
		oddity("no-start", func(e object) bool { return e["type"] != "message_start" }),
		oddity("no-block-stop", func(e object) bool { return e["type"] != "content_block_stop" }),
		oddity("no-reason", func(e object) bool { return e["type"] != "message_delta" }),
		oddity("reason-end-turn", func(e object) bool {
			if d := in(e, "delta"); d["stop_reason"] == "tool_use" {
				d["stop_reason"] = "end_turn"
			}
			return true
		}),
		oddity("reason-unknown", func(e object) bool {
			if d := in(e, "delta"); d["stop_reason"] != nil {
				d["stop_reason"] = "eos"
			}
			return true
		}),
		oddity("usage-missing", func(e object) bool {
			delete(in(e, "message"), "usage")
			if e["type"] == "message_delta" {
				delete(e, "usage")
			}
			return true
		}),
		swapped("index-order", numbered("index", 2), numbered("index", 3)),
		renamed(oddity("id-never", func(e object) bool { delete(in(e, "content_block"), "id"); return true })),
		renamed(oddity("id-same", func(e object) bool {
			if b := in(e, "content_block"); b["id"] != nil {
				b["id"] = "toolu_same"
			}
			return true
		})),
		garbled(oddity("name-never", func(e object) bool { delete(in(e, "content_block"), "name"); return true })),
		garbled(oddity("no-block-start", func(e object) bool { return e["type"] != "content_block_start" })),
		oddity("null-fields", func(e object) bool {
			if m := in(e, "message"); e["type"] == "message_start" {
				m["content"], m["container"] = nil, nil
			}
			if d := in(e, "delta"); d["type"] != nil {
				d["citation"] = nil
			}
			return true
		}),
		{Name: "usage-twice", Fault: Fault{Rewrite: func(b []byte) []byte {
			return bytes.Replace(b, []byte("event: message_delta\n"), []byte("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},\"usage\":{\"output_tokens\":1}}\n\nevent: message_delta\n"), 1)
		}}},
		uncounted(oddity("usage-negative", func(e object) bool {
			if u := in(e, "usage"); e["type"] == "message_delta" {
				u["output_tokens"] = -7
			}
			return true
		})),
		{Name: "input-whole", Fault: Fault{Rewrite: completeInputs}},
		{Name: "done-behind", Fault: Fault{Rewrite: func(b []byte) []byte { return append(bytes.Clone(b), "data: [DONE]\n\n"...) }}},
	}
	for i := range list {
		if n := list[i].Name; n == "usage-missing" || n == "no-start" || n == "no-reason" {
			list[i].Uncounted = true
		}
	}
	return list
}

// completeInputs sends every input at the head of its block.
func completeInputs(stream []byte) []byte {
	inputs := map[any]string{}
	edit(func(e object) bool {
		if d := in(e, "delta"); d["type"] == "input_json_delta" {
			inputs[e["index"]] += d["partial_json"].(string)
		}
		return true
	})(stream)
	return edit(func(e object) bool {
		if b := in(e, "content_block"); b["type"] == "tool_use" {
			b["input"] = json.RawMessage(inputs[e["index"]])
		}
		return in(e, "delta")["type"] != "input_json_delta"
	})(stream)
}

func responsesOddities() []Case {
	without := func(name string, types ...string) Case {
		return oddity(name, func(e object) bool {
			for _, t := range types {
				if e["type"] == t {
					return false
				}
			}
			return true
		})
	}
	list := []Case{
		oddity("no-type", func(e object) bool { delete(e, "type"); return true }),
		oddity("no-index", func(e object) bool { delete(e, "output_index"); return true }),
		without("no-pieces", "response.output_text.delta", "response.function_call_arguments.delta", "response.reasoning_summary_text.delta"),
		without("no-added", "response.output_item.added"),
		without("no-item-done", "response.output_item.done"),
		without("no-arguments-done", "response.function_call_arguments.done"),
		oddity("end-only", func(e object) bool { return e["type"] == "response.completed" }),
		without("no-end", "response.completed"),
		oddity("usage-missing", func(e object) bool { delete(in(e, "response"), "usage"); return true }),
		oddity("failed", func(e object) bool {
			if e["type"] == "response.completed" {
				e["type"] = "response.failed"
				r := in(e, "response")
				r["status"], r["error"] = "failed", object{"code": "server_error", "message": "The model failed"}
			}
			return true
		}),
		swapped("index-order", numbered("output_index", 2), numbered("output_index", 3)),
		renamed(oddity("id-never", func(e object) bool { delete(in(e, "item"), "call_id"); return true })),
		renamed(oddity("id-same", func(e object) bool {
			if it := in(e, "item"); it["call_id"] != nil {
				it["call_id"] = "call_same"
			}
			return true
		})),
		garbled(oddity("name-never", func(e object) bool { delete(in(e, "item"), "name"); return true })),
		oddity("status-missing", func(e object) bool { delete(in(e, "response"), "status"); return true }),
		oddity("status-unknown", func(e object) bool {
			if e["type"] == "response.completed" {
				in(e, "response")["status"] = "eos"
			}
			return true
		}),
		oddity("usage-twice", func(e object) bool {
			if e["type"] == "response.in_progress" {
				in(e, "response")["usage"] = object{"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
			}
			return true
		}),
		uncounted(oddity("usage-zero", func(e object) bool {
			if r := in(e, "response"); r["usage"] != nil {
				r["usage"] = object{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
			}
			return true
		})),
		oddity("null-fields", func(e object) bool {
			if it := in(e, "item"); len(it) > 0 {
				it["phase"] = nil
			}
			if r := in(e, "response"); len(r) > 0 {
				r["reasoning"], r["text"], r["tools"] = nil, nil, nil
			}
			return true
		}),
		held(Case{Name: "failed-held"}), // of the rewriting below
		{Name: "done-behind", Fault: Fault{Rewrite: func(b []byte) []byte { return append(bytes.Clone(b), "data: [DONE]\n\n"...) }}},
	}
	for i := range list {
		switch list[i].Name {
		case "usage-missing":
			list[i].Uncounted = true
		case "failed-held":
			failed := list[slices.IndexFunc(list, func(c Case) bool { return c.Name == "failed" })]
			list[i].Fault.Rewrite, list[i].Class = failed.Fault.Rewrite, model.ClassUnavailable
		case "no-end":
			list[i].Class = model.ClassProtocol
		case "failed":
			list[i].Class = model.ClassUnavailable
		}
	}
	return list
}
