package invoice

import (
	"strings"
	"testing"
)

func TestReadOrderRefuses(t *testing.T) {
	tests := map[string]string{
		`{`:                           "unexpected EOF",
		`{"number": "1", "line": []}`: "unknown field",
		`{"lines": [{"sku": "MUG", "quantity": 1}]}`:                                "it has no number",
		`{"number": "1", "lines": []}`:                                              "it has no lines",
		`{"number": "1", "lines": [{"sku": "MUG", "quantity": 1}, {"sku": "TEA"}]}`: "line 2 (TEA)",
	}
	for text, want := range tests {
		if _, err := ReadOrder(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadOrder(%s) fails with %v, want an error with %q", text, err, want)
		}
	}
}
