package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// mostFaults is how many faults of an answer are told at once.
const mostFaults = 20

// validator checks the documents that a model answers with.
type validator struct{ *jsonschema.Schema }

// nowhere reads nothing: a schema stands on its own.
type nowhere struct{}

// Load implements the compiler's loader.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: nothing is read from elsewhere", url)
}

func compile(schema map[string]any) (validator, error) {
	const url = "millhand://output"
	data, err := json.Marshal(schema)
	if err != nil {
		return validator{}, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return validator{}, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(url, doc); err != nil {
		return validator{}, err
	}
	compiled, err := c.Compile(url)
	return validator{compiled}, err
}

// read returns the JSON document of an answer, compact. The error is for the
// model to read.
func (v validator) read(text string) (json.RawMessage, error) {
	text = unfenced(text)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not one JSON document (%w)", err)
	}
	if err := v.Validate(doc); err != nil {
		return nil, faults(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		return nil, fmt.Errorf("it is not one JSON document (%w)", err)
	}
	return out.Bytes(), nil
}

// unfenced takes a document out of the Markdown fence that models like to put
// around it, with or without words before and after.
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

// faults lists what is wrong with a document, each fault with its place.
func faults(err error) error {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return err
	}
	lines := leaves(nil, ve)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	return errors.New(strings.Join(lines[:min(len(lines), mostFaults)], "; "))
}

func leaves(lines []string, ve *jsonschema.ValidationError) []string {
	if len(ve.Causes) == 0 {
		what := ve.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return append(lines, "at /"+strings.Join(ve.InstanceLocation, "/")+": "+what)
	}
	for _, c := range ve.Causes {
		lines = leaves(lines, c)
	}
	return lines
}
