package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// tolerate ignores that a value within an object has another type than expected: servers
// differ, and such a value is as good as a missing one. encoding/json has decoded all others.
func tolerate(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}

// String is a string that a provider sent. Of a value of another type it has the JSON: some
// servers send the arguments of a call as an object.
type String string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *String) UnmarshalJSON(data []byte) error {
	switch {
	case data[0] != '"':
		*s = ""
		if string(data) != "null" {
			*s = String(data)
		}
	case bytes.IndexByte(data, '\\') < 0: // most are short and without escapes
		*s = String(data[1 : len(data)-1])
	default:
		return json.Unmarshal(data, (*string)(s))
	}
	return nil
}

// Int is an integer that a provider sent, as a number or as a string.
type Int struct {
	N     int64
	Valid bool // it was sent
}

// UnmarshalJSON implements [json.Unmarshaler].
func (i *Int) UnmarshalJSON(data []byte) error {
	*i = Int{}
	text := string(bytes.Trim(data, `"`))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*i = Int{n, true}
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1<<53 && f < 1<<53 {
		*i = Int{int64(f), true}
	}
	return nil
}

// List is a list that a provider sent.
type List[T any] struct {
	Items []T
	Valid bool // a list was sent
	Lost  bool // something else was sent, other than an empty value
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *List[T]) UnmarshalJSON(data []byte) error {
	*l = List[T]{}
	if string(data) == "null" {
		return nil
	}
	l.Valid = tolerate(json.Unmarshal(data, &l.Items)) == nil
	if !l.Valid {
		*l = List[T]{Lost: Present(data)}
	}
	return nil
}

// Present reports whether a value was sent, and is not empty.
func Present(raw []byte) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}
