package manifest

import (
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// outputSchema is what the final message must match.
type outputSchema struct {
	Doc      map[string]any // nil: any
	Findings bool           // it is the built-in one
}

var outputSchemaForm = form.Of[outputSchema]{Type: form.Type{Name: "enum", Values: []string{findings.Name}, Or: &form.Schema.Type}, Read: readOutputSchema}

// readOutputSchema reads the name of a built-in schema, or a JSON Schema.
func readOutputSchema(v form.Value) (outputSchema, bool) {
	if v.IsScalar() && v.Node.Value == findings.Name {
		return outputSchema{findings.Schema(), true}, true
	}
	if v.IsScalar() && !v.Empty() {
		v.Problem("invalid output schema "+problem.Quote(v.Node.Value), "write findings, which is built in, or a JSON Schema such as {type: object, properties: {summary: {type: string}}}")
		return outputSchema{}, false
	}
	doc, ok := form.ReadSchema(v)
	return outputSchema{Doc: doc}, ok
}
