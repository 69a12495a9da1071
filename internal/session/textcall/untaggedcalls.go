package textcall

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
)

// block is a message that is one code block of a kind that models use for calls, after their reasoning.
var block = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?s)^```(json|tool_code|tool_calls?)[ \t]*\n(.*?)\\s*(?:```)?$")
})

var (
	after = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\s|</s>|` + special + `)+$`)
	})
	alone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ {0,3}\{\s*(?:"|$)`) }) // at the start of a line
)

// Only returns the name of the tool if a message is nothing but calls without tags: JSON objects with a name and
// arguments, also as a code block or as the last lines of prose, or a code block with calls in Python's syntax; else "". A
// document that was asked for may look the same.
func Only(text string, known func(name string) bool) string {
	if _, after, found := strings.Cut(text, "</think>"); found {
		text = after
	}
	text = trim(text)
	text = text[:len(text)-len(after().FindString(text))]
	if name := only(text, known); name != "" {
		return name
	}
	at := positions(text, alone())
	for _, i := range at[max(0, len(at)-maxStarts):] {
		if name := only(text[i:], known); name != "" {
			return name
		}
	}
	return ""
}

func only(text string, known func(name string) bool) string {
	if m := block().FindStringSubmatch(text); m != nil && !strings.Contains(m[2], "\n```") {
		if text = strings.TrimSpace(m[2]); m[1] != "json" && !strings.HasPrefix(text, "{") {
			return pick(python(text), known)
		}
	}
	var names []string
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return pick(names, known)
		}
		called := calledBy(doc)
		if err != nil || called == "" {
			return ""
		}
		names = append(names, called)
	}
}

var statement = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\w+\s*=\s*)?(?:print\()?\[?` + name + `\(`) })

// python returns the functions that code calls, if it is nothing but calls.
func python(code string) (names []string) {
	for code != "" {
		m := statement().FindStringSubmatchIndex(code)
		if m == nil {
			return nil
		}
		rest, ok := keywords(code[m[1]:])
		if !ok {
			return nil
		}
		names, code = append(names, code[m[2]:m[3]]), strings.TrimLeft(rest, "),;] \t\r\n")
	}
	return names
}

// isArguments reports whether a value can be the arguments of a call: an object, or one as JSON text. A JSON Schema
// describes a tool, and does not call it.
func isArguments(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		_, properties := v["properties"].(map[string]any)
		return v["type"] != "object" || len(v) > 1 && !properties
	case string:
		return strings.HasPrefix(strings.TrimSpace(v), "{")
	}
	return false
}

// calledBy returns the name of the tool that a document calls: an object with a name and arguments and nothing else that
// matters, as in the forms of OpenAI and Anthropic, or a list of such objects.
func calledBy(doc any) string {
	switch doc := doc.(type) {
	case []any:
		first := ""
		for i := range doc {
			called := calledBy(doc[len(doc)-1-i])
			if called == "" {
				return ""
			}
			first = called
		}
		return first
	case map[string]any:
		called, arguments := "", false
		for k, v := range doc {
			switch k {
			case "tool_calls", "function_call":
				if len(doc) == 1 {
					return calledBy(v)
				}
				return ""
			case "function":
				if inner, ok := v.(map[string]any); ok {
					called, arguments = calledBy(inner), true
					continue
				}
				fallthrough
			case "name", "tool", "tool_name":
				called, _ = v.(string)
			case "arguments", "parameters", "input", "args", "params", "tool_input":
				arguments = isArguments(v)
			case "id", "call_id", "tool_call_id", "type", "index":
			default:
				return ""
			}
		}
		if arguments {
			return called
		}
	}
	return ""
}
