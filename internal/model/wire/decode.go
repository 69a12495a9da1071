package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Decode unmarshals a JSON object that a provider sent. NaN and Infinity count as null.
func Decode(data []byte, to any) error {
	data, err := object(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// object returns an object that a provider sent, or an error, which the SDKs don't have for
// anything else. NaN and Infinity, which Python writes where it has no number, are null there: in
// the usage of a good response they must not fail it.
func object(data []byte) ([]byte, error) {
	valid := data
	if !json.Valid(data) {
		valid = finite(data)
	}
	switch {
	case !json.Valid(valid):
		return data, errors.New("invalid JSON")
	case valid[0] != '{':
		return data, errors.New("it begins otherwise")
	}
	return valid, nil
}

// finite is JSON with null in place of numbers that are not finite.
func finite(data []byte) []byte {
	out := make([]byte, 0, len(data))
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\' && i+1 < len(data):
			out = append(out, c)
			i++
		case c == '"':
			quoted = !quoted
		case !quoted:
			if word := infinite(data[i:]); word != "" {
				out = append(out, "null"...)
				i += len(word) - 1
				continue
			}
		}
		out = append(out, data[i])
	}
	return out
}

// infinite is the word for a number that is not finite at the start of data, ""
// for none.
func infinite(data []byte) string {
	for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return word
		}
	}
	return ""
}

// Present reports whether a value was sent, and is not empty.
func Present(raw string) bool {
	switch raw {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}
