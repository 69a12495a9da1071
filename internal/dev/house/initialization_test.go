package house

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// initialized matches a line of GODEBUG=inittrace=1.
var initialized = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)

// maxBeforeChild is how many packages may be initialized before the child of a sandbox enters it.
const maxBeforeChild = 27

// TestTheChildOfASandboxIsInitializedEarly starts a child without a plan, which it refuses.
func TestTheChildOfASandboxIsInitializedEarly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{child.Name, "-test.run=^$"} // the directory; without a sandbox it is a flag
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != child.Refused {
		t.Fatalf("%v: %s", err, trace)
	}
	before := slices.DeleteFunc(initialized.FindAllStringSubmatch(string(trace), -1), func(found []string) bool {
		return found[1] == "internal/platform" || found[1] == "internal/syslist" // of go/importer, which only these tests have
	})
	if len(before) < 10 || len(before) > maxBeforeChild {
		t.Errorf("%d packages, should be at most %d:\n%s", len(before), maxBeforeChild, trace)
	}
}
