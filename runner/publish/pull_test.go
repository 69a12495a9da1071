package publish

import (
	"strings"
	"testing"
)

func TestAppendedDescriptionsAreBounded(t *testing.T) {
	x, y, z := strings.Repeat("x", 30_000), strings.Repeat("y", 25_000), strings.Repeat("z", 20_000)
	for _, test := range []struct{ name, old, text, want string }{
		{"short", "old\n", "new", "old" + between + "new"},
		{"the oldest text that was appended goes", x + between + y + between + "last", z, x + between + "last" + between + z},
		{"the first one is cut", strings.Repeat("x", 59_999), "new", strings.Repeat("x", 60_000-len(truncated)-len(between)-3) + truncated + between + "new"},
	} {
		if got := appended(test.old, test.text); got != test.want || len(got) > maxBody {
			t.Errorf("%s: %d bytes, ends in %q", test.name, len(got), got[max(0, len(got)-60):])
		}
	}
	if got := appended(x+y, x+y+z); len(got) > maxBody+len(truncated) {
		t.Errorf("%d bytes", len(got))
	}
}
