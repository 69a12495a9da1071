package house

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// maxInitialization is how much memory the initialization of all packages of a release may
// allocate, in bytes. Each process does so, also for `millhand version` and for each
// sandboxed command. The client of NATS and what it imports have 80 KiB of it.
const maxInitialization = 976 << 10

// initialized matches a line of GODEBUG=inittrace=1.
var initialized = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)

// TestPackageInitialization adds what the packages of the program allocate. This test
// binary links them, and others that don't count.
func TestPackageInitialization(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", releaseTags(t), ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	program := strings.Fields(string(linked))
	type cost struct {
		name  string
		bytes int
	}
	var all []cost
	sum := 0
	for _, m := range initialized.FindAllStringSubmatch(string(trace), -1) {
		name := strings.ReplaceAll(m[1], "%2e", ".")
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(program, name) {
			all, sum = append(all, cost{name, n}), sum+n
		}
	}
	slices.SortFunc(all, func(a, b cost) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, c := range all[:min(len(all), 25)] {
		t.Logf("%7d %s", c.bytes, c.name)
	}
	t.Logf("%7d bytes", sum)
	if len(all) < 50 {
		t.Errorf("only %d packages in the trace: %s", len(all), trace)
	}
	if sum > maxInitialization {
		t.Errorf("the initialization of packages allocates %d bytes, more than %d", sum, maxInitialization)
	}
}

// maxBeforeChild is how many packages may be initialized before the child of a sandbox enters it.
const maxBeforeChild = 22

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
	before := initialized.FindAllStringSubmatch(string(trace), -1)
	if len(before) < 10 || len(before) > maxBeforeChild {
		t.Errorf("%d packages, should be at most %d:\n%s", len(before), maxBeforeChild, trace)
	}
}

// releaseTags returns the build tags of releases.
func releaseTags(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`flags: \[.*-tags=([\w,]+)`).FindStringSubmatch(read(t, ".goreleaser.yaml"))
	if m == nil {
		t.Fatal("no -tags in .goreleaser.yaml")
	}
	return m[1]
}
