package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// AnswerTool is the name of the tool by which a model gives an answer that is
// to meet a schema, where its provider has no mode for that.
const AnswerTool = "structured_output"

// AnswerSpec offers the tool for an answer of the given schema.
func AnswerSpec(schema map[string]any) model.ToolSpec {
	return model.ToolSpec{
		Name:        AnswerTool,
		Description: "Gives your final answer. Call it once, alone, when everything else is done; nothing but its arguments is read.",
		Schema:      schema,
	}
}

// TakeAnswer makes the input of a call of the answering tool the text of r and
// drops the call. Beside other calls it came too early and is only dropped. It
// reports whether the text is another one now.
func TakeAnswer(r *model.Response) bool {
	answers := func(c model.ToolCall) bool { return c.Name == AnswerTool }
	at := slices.IndexFunc(r.Calls, answers)
	if at < 0 {
		return false
	}
	input := r.Calls[at].Input
	r.Calls = slices.DeleteFunc(r.Calls, answers)
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
