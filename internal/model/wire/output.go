package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// OutputTool is the name of the tool with which a model returns a response that must
// match a schema, if its provider has no mode for that.
const OutputTool = "structured_output"

// OutputSchema returns the schema of a response without the keywords that only identify it
// and its dialect: providers need none of them and may refuse them.
func OutputSchema(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	delete(schema, "$schema")
	delete(schema, "$id")
	return schema
}

// OutputSpec returns the tool for a response with the given schema.
func OutputSpec(schema map[string]any) model.ToolSpec {
	return model.ToolSpec{
		Name:        OutputTool,
		Description: "Returns your final response. Call it once, without other tool calls, when the task is complete. Only its arguments are read.",
		Schema:      OutputSchema(schema),
	}
}

// UseOutputCall removes a call of the output tool from r and makes its input the
// response's text. If there are other calls, it came too early and is only removed. It
// reports whether the text has changed.
func UseOutputCall(r *model.Response) bool {
	isOutput := func(c model.ToolCall) bool { return c.Name == OutputTool }
	at := slices.IndexFunc(r.Calls, isOutput)
	if at < 0 {
		return false
	}
	input := r.Calls[at].Input
	r.Calls = slices.DeleteFunc(r.Calls, isOutput)
	if len(r.Calls) > 0 {
		return false
	}
	r.Calls, r.Text = nil, input
	if r.Finish == model.FinishTools {
		r.Finish = model.FinishStop
	}
	return true
}

// Arguments returns a call's input for a provider that gets it as text, as the model wrote it
// except for NUL.
func Arguments(input string) string {
	if input == "" {
		return "{}"
	}
	if !strings.Contains(input, `\u0000`) {
		return input
	}
	text := []byte(input)
	replaceNUL(text)
	return string(text)
}

// Object returns a call's input for a provider that accepts only objects. Anything
// else that the model wrote is wrapped in an object.
func Object(text string) json.RawMessage {
	trimmed := strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case trimmed == "":
		return json.RawMessage("{}")
	case strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)):
		return json.RawMessage(trimmed)
	}
	wrapped, err := json.Marshal(map[string]string{"malformed": text})
	if err != nil {
		return json.RawMessage("{}") // unreachable: a string can be encoded
	}
	return wrapped
}
