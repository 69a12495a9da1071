// Package jsontext examines JSON texts of models, which can be invalid or very deep, before or without decoding
// them into Go types. It corrects nothing, and knows no schema.
package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Depth returns the nesting depth of objects and arrays, without decoding them.
func Depth(text []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

// Values returns the most values that decoding a text can create, without decoding it: each begins the
// text, an object or a list, or follows a comma.
func Values(text []byte) int {
	values, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '[' || c == ','):
			values++
		}
	}
	return values
}

// Canonical returns a text with sorted keys and without insignificant space, so that
// equal values have equal texts. An invalid text is returned unchanged.
func Canonical(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	var out bytes.Buffer
	if dec.Decode(&v) != nil || json.NewEncoder(&out).Encode(v) != nil {
		return text
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// IsObject reports whether a text is a JSON object.
func IsObject(text []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

// Same reports whether two texts are the same JSON value for a program that has numbers as JavaScript does: unlike for
// [Canonical], 1 and 1.0 are the same, and so are large integers that differ by what such a program loses.
func Same(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)   //nolint:errchkjson // it was JSON
	other, _ := json.Marshal(y) //nolint:errchkjson // it was JSON
	return string(one) == string(other)
}
