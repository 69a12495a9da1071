package tasks

import (
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks/problem"
)

// outputSchema is what the final message must match.
type outputSchema struct {
	doc      map[string]any // nil: any
	findings bool           // it is the built-in one
}

var outputSchemaForm = form[outputSchema]{Type{Name: "enum", Values: []string{findings.Name}, Or: &schemaForm.Type}, readOutputSchema}

// readOutputSchema reads the name of a built-in schema, or a JSON Schema.
func readOutputSchema(v value) (outputSchema, bool) {
	if v.isScalar() && v.node.Value == findings.Name {
		return outputSchema{findings.Schema(), true}, true
	}
	if v.isScalar() && !v.empty() {
		v.problem("invalid output schema "+problem.Quote(v.node.Value), "write findings, which is built in, or a JSON Schema such as {type: object, properties: {summary: {type: string}}}")
		return outputSchema{}, false
	}
	doc, ok := readSchema(v)
	return outputSchema{doc: doc}, ok
}
