package wire

import (
	"bytes"
	"encoding/json"
)

// Decode unmarshals what a provider sent. NaN and Infinity, which Python writes
// where it has no number, are read as null: in the usage of a good response they
// must not fail it.
func Decode(data []byte, to any) error {
	err := json.Unmarshal(data, to)
	if err == nil || !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return err
	}
	if json.Unmarshal(finite(data), to) == nil {
		return nil
	}
	return err
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
