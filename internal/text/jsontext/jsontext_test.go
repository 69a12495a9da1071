package jsontext

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "1": 0, `"[[{"`: 0, `{"a": [1, {"b\"[": []}]}`: 4, "[][][]": 1, `["\\", [`: 2, strings.Repeat("[", 1_000_000): 1_000_000,
	} {
		if got := Depth([]byte(text)); got != want {
			t.Errorf("%.40s: got %d, want %d", text, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "1": 1, `"a,{["`: 1, `{"a\",": [1, {"b": []}, "\\"]}`: 7, "[[],[],[]]": 7, strings.Repeat("[", 1_000_000): 1_000_001,
	} {
		if got := Values([]byte(text)); got != want {
			t.Errorf("%.40s: got %d, want %d", text, got, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` {"b": 1.50, "a": [ 2 ]} `: `{"a":[2],"b":1.50}`, // numbers are not rounded
		"12345678901234567890":      "12345678901234567890",
		"{not JSON":                 "{not JSON",
		"":                          "",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestObjectsAndSameValues(t *testing.T) {
	for text, want := range map[string]bool{`{"a": 1}`: true, ` {} `: true, `[]`: false, `null`: false, `{`: false, ``: false} {
		if IsObject([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{{`{"a": 1, "b": [2]}`, `{"b":[2],"a":1.0}`, true}, {`[1, 2]`, `[2, 1]`, false}, {`{}`, `{`, false}, {`null`, ` null`, true}, {`12345678901234567890`, `12345678901234567000`, true}} {
		if Same([]byte(tt.a), []byte(tt.b)) != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, !tt.want)
		}
	}
}
