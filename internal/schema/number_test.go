package schema

import (
	"encoding/json"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		compare    int
		multipleOf bool // a of b
	}{
		{"0", "1", -1, true},
		{"-0.0", "0e5", 0, false},
		{"1", "1.0", 0, true},
		{"100", "1e2", 0, true},
		{"1.5e1", "15", 0, true},
		{"-2", "-1", -1, true},
		{"-1", "0.5", -1, true},
		{"10", "9", 1, false},
		{"0.3", "0.1", 1, true},
		{"19.99", "0.01", 1, true},
		{"19.995", "0.01", 1, false},
		{"0.5", "1", -1, false},
		{"9007199254740993", "9007199254740992", 1, false},
		{"123456789012345678901234567890", "3", 1, true},
		{"123456789012345678901234567891", "3", 1, false},
		{"1e9999999999999999999999", "2", 1, true},
		{"1e-9999999999999999999999", "0.1", -1, false},
	} {
		a, okA := number(json.Number(c.a))
		b, okB := number(json.Number(c.b))
		if !okA || !okB || a.compare(b) != c.compare || b.compare(a) != -c.compare || (a.key() == b.key()) != (c.compare == 0) {
			t.Errorf("%s and %s: %v, %v: %d, want %d", c.a, c.b, a, b, a.compare(b), c.compare)
		}
		if b.digits != "" && a.multipleOf(b) != c.multipleOf {
			t.Errorf("%s is a multiple of %s: got %t", c.a, c.b, !c.multipleOf)
		}
	}
	for v, want := range map[any]string{1.5: "15e-1", 3: "3e0", int64(-20): "-2e1", uint8(7): "7e0", float32(0.25): "25e-2"} {
		if d, ok := number(v); !ok || d.key() != want {
			t.Errorf("%v: got %s, want %s", v, d.key(), want)
		}
	}
	for _, v := range []any{"1", nil, true, json.Number("x"), json.Number("1ex"), json.Number("")} {
		if d, ok := number(v); ok {
			t.Errorf("%v is the number %v", v, d)
		}
	}
	for text, want := range map[string]bool{"3": true, "3.0": true, "3e2": true, "0": true, "3.5": false, "1e-1": false, "1e999999": false} {
		if d, _ := number(json.Number(text)); d.integer() != want {
			t.Errorf("%s: got %t", text, d.integer())
		}
	}
}
