package savedrun

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestWarningsOfAnotherRunAreOneSafeLine(t *testing.T) {
	var out strings.Builder
	s := Warnings{To: &out}
	for _, e := range []event.Event{{Type: event.WarningIssued, Warning: &event.Warning{Message: "a\x1b[31mb"}}, {Type: event.RunEnded}} {
		if err := s.Emit(e); err != nil {
			t.Error(err)
		}
	}
	if text := out.String(); strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "millhand: warning: a") || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
}
