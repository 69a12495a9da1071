package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestAnErrorKeepsItsKindAndItsCause(t *testing.T) {
	for name, tt := range map[string]struct {
		err     error
		kind    event.Exit
		message string
		cause   bool
	}{
		"a message":           {New(event.ExitPolicy, "open %s: %w", "a", fs.ErrNotExist), event.ExitPolicy, "open a: file does not exist", true},
		"an error":            {Wrap(event.ExitUsage, fs.ErrNotExist), event.ExitUsage, "file does not exist", true},
		"below another error": {fmt.Errorf("run: %w", New(event.ExitAuth, "no key")), event.ExitAuth, "run: no key", false},
		"no message":          {Silent(event.ExitFailed), event.ExitFailed, "", false},
	} {
		var f Error
		if !errors.As(tt.err, &f) || f.Kind != tt.kind {
			t.Errorf("%s: kind %d, want %d", name, f.Kind, tt.kind)
		}
		if tt.err.Error() != tt.message || errors.Is(tt.err, fs.ErrNotExist) != tt.cause {
			t.Errorf("%s: %q, want %q", name, tt.err, tt.message)
		}
	}
	if err := Silent(event.ExitOK); err != nil {
		t.Errorf("success is an error: %v", err)
	}
}
