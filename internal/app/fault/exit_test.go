package fault

import (
	"errors"
	"fmt"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestAnErrorHasTheExitCodeOfItsCause(t *testing.T) {
	signal := event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate}
	for name, tt := range map[string]struct {
		err  error
		want event.Exit
	}{
		"no error":                       {nil, event.ExitOK},
		"an error of the command line":   {errors.New("no such flag"), event.ExitUsage},
		"a failure":                      {New(event.ExitPolicy, "no sandbox"), event.ExitPolicy},
		"a signal while reading":         {fmt.Errorf("read manifest m.yaml: %w", signal), event.ExitTerminate},
		"the time of the run":            {Wrap(event.ExitUsage, event.EndCause{Code: event.CodeRunTime}), event.ExitDeadline},
		"the time of a job":              {Wrap(event.ExitFailed, event.EndCause{Code: event.CodeLimit}), event.ExitFailed},
		"a missing key":                  {fmt.Errorf("check models: %w", &KeyError{}), event.ExitAuth},
		"a failure for which it was one": {New(event.ExitUsage, "%w; nothing was run", signal), event.ExitTerminate},
	} {
		if got := ExitOf(tt.err); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tt.want)
		}
	}
}
