package schema

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// jsonschema/v6 compiles the metaschemas of five drafts in each process that links it, before main, whether schemas are
// used or not: a third of what is initialized, which every start of the program waits for. If this fails, the library
// compiles them when they are used: then compare the start to the first request again, which was to be at most 1.3 times that of
// the program without the libraries.
func TestTheLibraryCompilesItsMetaschemasInEveryProcess(t *testing.T) {
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
	found := regexp.MustCompile(`(?m)^init github\.com/santhosh-tekuri/jsonschema/v6 @.* (\d+) allocs$`).FindSubmatch(trace)
	if found == nil {
		t.Fatalf("jsonschema/v6 is not initialized:\n%s", trace)
	}
	if allocs, err := strconv.Atoi(string(found[1])); err != nil || allocs < 10_000 {
		t.Errorf("%d allocations (%v)", allocs, err)
	}
}
