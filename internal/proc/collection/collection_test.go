//go:build !windows

package collection_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/proc/signals"
)

// asMain makes the test binary the program, as tests of the command line do.
const asMain = "MILLHAND_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		command.Start(signals.Catch(), command.SameSignal)
	}
	os.Exit(m.Run())
}

// Nothing is collected while the libraries are initialized, unless the user configured it.
func TestNoCollectionBeforeMain(t *testing.T) {
	for percent, want := range map[string]bool{"": false, "100": false, "300": false, "20": true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "version")
		cmd.Env = append(os.Environ(), asMain+"=1", "GODEBUG=gctrace=1", "GOGC="+percent)
		out, err := cmd.CombinedOutput()
		if got := bytes.Contains(out, []byte("gc 1 @")); err != nil || got != want {
			t.Errorf("GOGC=%s: %v, collected: %t\n%s", percent, err, got, out)
		}
	}
}
