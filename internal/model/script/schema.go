package script

import "slices"

// Schema returns the JSON Schema of a script. It accepts every script that [Parse] does, except
// strings that are written without quotes as other values.
func Schema() map[string]any {
	text := func(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }
	count := func(doc string) map[string]any {
		return map[string]any{"type": "integer", "minimum": 0, "description": doc}
	}
	call := object([]any{"tool"}, map[string]any{
		"tool": text("Name of the tool, as models get it"),
		"args": map[string]any{"type": "object", "description": "Arguments of the call ({} if absent)"},
		"raw":  text("Exact text of the arguments instead of args, also one that is no JSON"),
	})
	var classes []any
	for _, s := range statuses {
		if class := any(string(s.class)); !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	failure := object(nil, map[string]any{
		"status":      map[string]any{"type": "integer", "minimum": 400, "maximum": 599, "description": "HTTP status (that of class if absent)"},
		"class":       map[string]any{"enum": classes, "description": "What the failure means (that of status if absent)"},
		"message":     text("Text of the failure"),
		"retry_after": text("When the provider allows another request, for example 2s"),
	})
	failure["anyOf"] = []any{map[string]any{"required": []any{"status"}}, map[string]any{"required": []any{"class"}}}
	ends := make([]any, len(finishes))
	for i, f := range finishes {
		ends[i] = f
	}
	turn := object(nil, map[string]any{
		"text":      text("Text of the response"),
		"calls":     map[string]any{"type": "array", "items": call, "description": "Tool calls; a turn without calls ends the attempt"},
		"reasoning": text("Reasoning of the model"),
		"usage": object(nil, map[string]any{
			"input": count("Input tokens, with cached ones"), "output": count("Output tokens, with reasoning"), "reasoning": count("Tokens of reasoning"),
			"cache_read": count("Input tokens that were read from a cache"), "cache_write": count("Input tokens that were written to a cache"),
		}),
		"expect": map[string]any{"type": "array", "items": text("Regular expression"), "description": "Each must match in what came since the last turn: the prompt, results of calls, the output of a failed verify command"},
		"error":  failure,
		"finish": map[string]any{"enum": ends, "description": "Why the model stopped (tool_calls with calls, else stop)"},
		"delay":  text("Time until the response ends, for example 200ms"),
	})
	turn["oneOf"] = []any{map[string]any{"anyOf": []any{map[string]any{"required": []any{"text"}}, map[string]any{"required": []any{"calls"}}}}, map[string]any{"required": []any{"error"}}}
	turns := map[string]any{"type": "array", "items": turn, "description": "Responses, one for each request; a missing and an unused one fail the job"}
	doc := object([]any{"version", "turns"}, map[string]any{
		"version": map[string]any{"const": 1, "description": "Version of the format"},
		"turns":   turns,
		"agents": map[string]any{
			"type": "object", "description": "Turns of subagents by the name of their agent; those of the second session of an agent in a job under NAME#2",
			"additionalProperties": object([]any{"turns"}, map[string]any{"turns": turns}),
		},
	})
	return doc
}

// object describes a mapping with exactly these keys.
func object(required []any, properties map[string]any) map[string]any {
	doc := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		doc["required"] = required
	}
	return doc
}
