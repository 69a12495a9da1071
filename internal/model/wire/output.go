package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// OutputTool is the name of the tool by which a model gives a response that is
// to meet a schema, where its provider has no mode for that.
const OutputTool = "structured_output"

// OutputSpec offers the tool for a response of the given schema.
func OutputSpec(schema map[string]any) model.ToolSpec {
	return model.ToolSpec{
		Name:        OutputTool,
		Description: "Gives your final answer. Call it once, alone, when everything else is done; nothing but its arguments is read.",
		Schema:      schema,
	}
}

// UseOutputCall makes the input of a call of the output tool the text of r and
// drops the call. Beside other calls it came too early and is only dropped. It
// reports whether the text is another one now.
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

// Object is a call's input for a provider that takes nothing but an object.
// What the model wrote instead it is shown inside one.
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
		return json.RawMessage("{}") // can't be: it is a string
	}
	return wrapped
}
