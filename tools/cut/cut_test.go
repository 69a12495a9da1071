package cut

import (
	"strings"
	"testing"
)

func TestLongMessagesLoseTheirMiddle(t *testing.T) {
	long := "open " + strings.Repeat("x", 100_000) + ": no such file"
	got := Message(long)
	if !strings.HasPrefix(got, "open xxx") || !strings.HasSuffix(got, "xxx: no such file") || !strings.Contains(got, "x (...) x") || len(got) > MaxMessage+10 {
		t.Errorf("%d bytes: %.50q", len(got), got)
	}
	for in, want := range map[string]string{"": "", "short: why": "short: why", "a\xffb": "a\uFFFDb", strings.Repeat("x", MaxMessage): strings.Repeat("x", MaxMessage)} {
		if got := Message(in); got != want {
			t.Errorf("Message(%.20q) = %.20q", in, got)
		}
	}
}
