// Package arguments reads the arguments of calls as models write them: it fixes harmless mistakes, checks them against
// the schema that the model was shown, and makes that schema, of a Go type ([Struct]) or of the schema that a program
// gives for its own tool ([Foreign]). It knows neither tools nor permissions.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/jsontext"
	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/tools/cut"
)

// maxInput and maxDepth limit the arguments of one call, so that a broken or
// hostile model can't make millhand parse huge input.
const (
	maxInput = 1 << 20 // bytes
	maxDepth = 64
)

// dropUnknown removes unknown arguments if nothing else is wrong, and returns their
// names: models add those of other agents' tools, and a refusal costs a turn. An argument
// that resembles a known one is an error: it was meant to have an effect.
func dropUnknown(value any, invalid error, offered map[string]any) []string {
	var faults schema.Faults
	if !errors.As(invalid, &faults) {
		return nil
	}
	known := map[string]bool{}
	propertyNames(offered, known)
	var all []string
	for _, f := range faults {
		unknown, ok := f.Kind.(*schema.AdditionalProperties)
		if !ok || slices.ContainsFunc(unknown.Properties, func(name string) bool { return known[plainName(name)] }) {
			return nil
		}
		for _, name := range unknown.Properties {
			all = append(all, strings.Join(append(slices.Clone(f.At), name), "."))
		}
	}
	for _, f := range faults {
		unknown, _ := f.Kind.(*schema.AdditionalProperties)
		if obj, ok := valueAt(value, f.At).(map[string]any); ok {
			maps.DeleteFunc(obj, func(name string, _ any) bool { return slices.Contains(unknown.Properties, name) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// valueAt returns the value at a path of keys and indexes, nil if missing.
func valueAt(v any, at []string) any {
	for _, key := range at {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// propertyNames adds the plain names of all properties of a schema.
func propertyNames(s map[string]any, names map[string]bool) {
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		names[plainName(name)] = true
		if sub, ok := p.(map[string]any); ok {
			propertyNames(sub, names)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		propertyNames(items, names)
	}
}

// plainName is equal for names that differ only in case, _ and -.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// parse decodes arguments into plain JSON values, numbers as json.Number.
// Empty input counts as an empty object.
func parse(input json.RawMessage) (any, error) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || bytes.Equal(input, []byte("null")) {
		return map[string]any{}, nil
	}
	if len(input) > maxInput {
		return nil, fmt.Errorf("arguments too large: %d bytes, maximum %d", len(input), maxInput)
	}
	if !utf8.Valid(input) {
		return nil, errors.New("arguments are not valid UTF-8; resend the call")
	}
	if jsontext.Depth(input) > maxDepth {
		return nil, fmt.Errorf("arguments are nested too deeply: maximum depth %d", maxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("arguments are not valid JSON: %w; they may have been truncated, resend the call", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object in the arguments; send exactly one object")
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("arguments must be a JSON object, not %s", kindOf(v))
	}
	return v, nil
}

// coerce fixes common harmless mistakes of models: numbers and booleans written
// as strings, lists and objects written as strings with JSON, integers written as 3.0, null or an
// empty text for an optional argument that has no such value.
func coerce(v any, schema map[string]any) any {
	switch want := schema["type"]; v := v.(type) {
	case map[string]any:
		return coerceObject(v, schema)
	case []any:
		items, ok := schema["items"].(map[string]any)
		if ok {
			for i := range v {
				v[i] = coerce(v[i], items)
			}
		}
		return v
	case string:
		if want == "array" || want == "object" {
			return coerceText(v, schema)
		}
		return coerceString(v, want)
	case json.Number:
		if want == "integer" {
			return integerOf(v)
		}
	}
	return v
}

func coerceObject(obj map[string]any, schema map[string]any) any {
	props, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name, v := range obj {
		sub, ok := props[name].(map[string]any)
		switch {
		case (v == nil || v == "" && (sub["enum"] != nil || slices.Contains([]any{"integer", "number", "boolean", "array", "object"}, sub["type"]))) && !slices.Contains(required, any(name)):
			delete(obj, name)
		case ok:
			obj[name] = coerce(v, sub)
		}
	}
	return obj
}

// coerceText returns the list or object that a string has as JSON, or the string.
func coerceText(s string, schema map[string]any) any {
	if jsontext.Depth([]byte(s)) > maxDepth {
		return s
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return s
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s
	}
	switch v.(type) {
	case []any, map[string]any:
		return coerce(v, schema)
	}
	return s
}

func coerceString(s string, want any) any {
	switch text := strings.TrimSpace(s); want {
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			if want == "integer" {
				return integerOf(json.Number(text))
			}
			return json.Number(text)
		}
	case "boolean":
		if text = strings.ToLower(text); text == "true" || text == "false" {
			return text == "true"
		}
	}
	return s
}

// integerOf rewrites 3.0 and 3e0 as 3, and returns other numbers unchanged.
func integerOf(n json.Number) json.Number {
	if _, err := n.Int64(); err == nil {
		return n
	}
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return n
}

// argumentError lists all invalid arguments, with the expected and the received
// value.
func argumentError(err error) error {
	var faults schema.Faults
	if !errors.As(err, &faults) {
		return fmt.Errorf("invalid arguments: %w", err)
	}
	var lines []string
	for _, f := range faults {
		lines = append(lines, describe(f))
	}
	slices.Sort(lines)
	return fmt.Errorf("invalid arguments: %s", strings.Join(slices.Compact(lines), "; "))
}

// describe describes one invalid argument.
func describe(f schema.Fault) string {
	at := ""
	if len(f.At) > 0 {
		at = strings.Join(f.At, ".") + ": "
	}
	switch k := f.Kind.(type) {
	case *schema.Required:
		return fmt.Sprintf("%smissing required argument %s", at, strings.Join(k.Missing, ", "))
	case *schema.AdditionalProperties:
		return fmt.Sprintf("%sunknown argument %s", at, strings.Join(k.Properties, ", "))
	case *schema.Type:
		return fmt.Sprintf("%sexpected %s, got %s", at, strings.Join(k.Want, " or "), k.Got)
	case *schema.Enum:
		return fmt.Sprintf("%sexpected one of %s, got %s", at, valueList(k.Want), valueText(k.Got))
	}
	return fmt.Sprintf("%s%s", at, f)
}

// valueList lists the values of an enum, for example: auto, fast, deep.
func valueList(values []any) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	return strings.Join(list, ", ")
}

// valueText returns a value that a model sent, for an error message.
func valueText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(cut.Title(s))
	}
	return cut.Title(fmt.Sprint(v))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case json.Number, float64:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	}
	return "an object"
}
