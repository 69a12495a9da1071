package envfault

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is an output of a real program: a command line, the exit code with the program's
// version, and the output. Most were captured without network, with paths and addresses
// replaced and "..." for removed lines. A few have the source that they are from.
type example struct {
	line   string
	exit   int
	output string
}

var exitLine = regexp.MustCompile(`^exit (\d+), \S`)

func examples(tb testing.TB, dir string) map[string]example {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("find examples: %d files, %v", len(files), err)
	}
	all := map[string]example{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		fields := strings.SplitN(string(text), "\n", 4)
		found := exitLine.FindStringSubmatch(fields[1])
		if len(fields) != 4 || found == nil || fields[2] != "" {
			tb.Fatalf("%s: no command line, exit code and program", file)
		}
		exit, err := strconv.Atoi(found[1])
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = example{fields[0], exit, fields[3]}
	}
	return all
}

var update = flag.Bool("update", false, "write the golden file")

// The golden file has what is found for each example.
func TestFaultsOfRealOutputs(t *testing.T) {
	var got strings.Builder
	all := examples(t, "faults")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		f, ok := Find(e.line, e.exit, e.output)
		if !ok {
			t.Errorf("%s: no fault in\n%s", name, e.output)
		}
		fmt.Fprintf(&got, "%s\n\t%s: %s\n\t%s\n", name, f.Kind, f.Evidence, f.Fix)
		if _, ok := Find(e.line, 0, e.output); ok {
			t.Errorf("%s: a fault of a command that passed", name)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/found.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/found.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Failing tests, compiler errors and mistakes in a project's files are no faults, even if
// their output names the network or missing programs.
func TestOtherFailuresAreNoFaults(t *testing.T) {
	for name, e := range examples(t, "none") {
		if f, ok := Find(e.line, e.exit, e.output); ok {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A test runner that prints the output of a program without network has run a test.
func TestFaultsInTheOutputOfFailingTestsAreIgnored(t *testing.T) {
	for name, e := range examples(t, "faults") {
		for _, result := range []string{"--- FAIL: TestInstall (0.1s)\n", "test result: FAILED. 0 passed; 1 failed; 0 ignored\n", "Tests:       1 failed, 1 total\n", "FAILED (failures=1)\n"} {
			if f, ok := Find(e.line, 1, e.output+result+"done\n"); ok {
				t.Errorf("%s after %q: %+v", name, result, f)
			}
		}
	}
}

func TestEveryEntryHasAnExample(t *testing.T) {
	table, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{}
	for _, e := range examples(t, "faults") {
		for i := range table.entries {
			if _, ok := table.entries[i].find(e.line, e.exit, plainLines(e.output)); ok {
				used[i] = true
			}
		}
	}
	for i, e := range table.entries {
		if !used[i] {
			t.Errorf("no example of %s %s", e.kind, e.match)
		}
	}
}

func TestParseRejectsInvalidTables(t *testing.T) {
	for _, faults := range []string{
		"kind: disk\nmatch: x\nfix: y", "kind: program\nfix: y", "kind: program\nmatch: x", "kind: program\nmatch: (\nfix: y",
		"kind: program\nmatch: x\nline: (\nfix: y", "kind: program\nmatch: x\nexit: y\nfix: z", "kind: program\nmatch: x\nfix: y\nmore: z",
	} {
		if _, err := parse(faults, ""); err == nil {
			t.Errorf("accepted:\n%s", faults)
		}
	}
	if _, err := parse("", "("); err == nil {
		t.Error("an invalid expression was accepted")
	}
}

// A fault is one printable line of the output, whatever the output is.
func FuzzFind(f *testing.F) {
	for _, dir := range []string{"faults", "none"} {
		for _, e := range examples(f, dir) {
			f.Add(e.line, e.exit, e.output)
		}
	}
	f.Add("x", 127, "bash: line 1: x: command not found\r\n\x1b[0m\n\n")
	f.Fuzz(func(t *testing.T, line string, exit int, output string) {
		fault, ok := Find(line, exit, output)
		if !ok {
			if fault != (Fault{}) {
				t.Errorf("%+v", fault)
			}
			return
		}
		if exit <= 0 || fault.Evidence == "" || fault.Fix == "" || len(fault.Evidence) > maxEvidence+len("…") || len(fault.Fix) > 1000 || strings.Contains(fault.Evidence+fault.Fix, "\n") {
			t.Errorf("exit %d: %+v", exit, fault)
		}
		if e := strings.TrimSuffix(fault.Evidence, "…"); !strings.Contains(spaces.Replace(escape.ReplaceAllString(output, "")), e) {
			t.Errorf("evidence %q is not in the output %q", e, output)
		}
	})
}
