package redact

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// JSON redacts a JSON text. It decodes each string to search it, and leaves
// everything outside strings unchanged.
func (r *Redactor) JSON(text []byte) []byte { return r.json(text, true) }

// HeldJSON redacts only the secrets passed to New, as [Redactor.Held] does.
func (r *Redactor) HeldJSON(text []byte) []byte { return r.json(text, false) }

func (r *Redactor) json(text []byte, guess bool) []byte {
	if r == nil {
		return text
	}
	var out bytes.Buffer
	copied := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		end := stringEnd(text, at)
		if clean, changed := r.literal(text[at:end], guess); changed {
			out.Write(text[copied:at])
			out.Write(clean)
			copied = end
		}
		at = end - 1
	}
	if copied == 0 {
		return text
	}
	out.Write(text[copied:])
	return out.Bytes()
}

// stringEnd returns the end of the string that starts at a quote.
func stringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func (r *Redactor) literal(quoted []byte, guess bool) (clean []byte, changed bool) {
	if len(quoted) < shortest+len(`""`) {
		return nil, false
	}
	s, ok := unescaped(quoted)
	if !ok && json.Unmarshal(quoted, &s) != nil {
		return nil, false // it is no JSON, and nobody's text
	}
	found := r.find(s, guess)
	if len(found) == 0 {
		return nil, false
	}
	clean, err := json.Marshal(without(s, found))
	return clean, err == nil
}

// unescaped returns the content of a string in which nothing is escaped or invalid, as in most.
func unescaped(quoted []byte) (content string, ok bool) {
	if quoted[len(quoted)-1] != '"' {
		return "", false
	}
	inside := quoted[1 : len(quoted)-1]
	for _, c := range inside {
		if c < ' ' || c == '\\' {
			return "", false
		}
	}
	return string(inside), utf8.Valid(inside)
}
