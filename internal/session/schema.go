package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/schema"
)

// maxSchemaFaults is how many errors of a response are reported together.
const maxSchemaFaults = 20

// document returns the JSON document of a response that matches a schema, compact.
// The error is for the model.
func document(s *schema.Schema, text string) (json.RawMessage, error) {
	text = unfenced(text)
	doc, err := schema.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not one JSON document (%w)", err)
	}
	if err := s.Validate(doc); err != nil {
		return nil, faults(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		return nil, fmt.Errorf("it is not one JSON document (%w)", err)
	}
	return out.Bytes(), nil
}

// unfenced returns the document within a Markdown code fence, which models often
// add, with or without text before and after it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if json.Valid([]byte(text)) {
		return text
	}
	_, body, opened := strings.Cut(text, "```")
	body, _, closed := strings.Cut(body, "```")
	_, body, lines := strings.Cut(body, "\n") // the language
	if !opened || !closed || !lines {
		return text
	}
	return strings.TrimSpace(body)
}

// faults lists the errors of a document with their locations.
func faults(err error) error {
	var all schema.Faults
	if !errors.As(err, &all) {
		return err
	}
	lines := make([]string, len(all))
	for i, f := range all {
		lines[i] = schema.Faults{f}.Error()
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	return errors.New(strings.Join(lines[:min(len(lines), maxSchemaFaults)], "; "))
}
