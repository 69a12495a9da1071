package scripts

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// eachFault runs a check for the faults that arguments name: "2/5 a b c ..." is the
// second of five shares of the list, the whole of which is tried nightly. Package
// openai and its like try every fault on a client, always.
func eachFault(check func(ts *testscript.TestScript, fault string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		var share, of int
		if len(args) < 2 || neg {
			ts.Fatalf("usage: NAME SHARE/OF FAULT...")
		}
		if _, err := fmt.Sscanf(args[0], "%d/%d", &share, &of); err != nil || share < 1 || share > of || len(args) <= of {
			ts.Fatalf("invalid share %s of %d faults", args[0], len(args)-1)
		}
		for i, fault := range args[1:] {
			if nightly.On() || i%of == share-1 {
				check(ts, fault)
			}
		}
	}
}

// runFault runs millhand.yaml on a server of model.yaml with a fault.
func runFault(ts *testscript.TestScript, exit, requests, name string, when ...string) {
	wire(ts, false, append([]string{"model.yaml", name}, when...))
	exits(ts, false, []string{exit, "millhand", "run", "millhand.yaml", "--report-dir", name})
	asked(ts, false, []string{requests})
}

// spelled holds runs with faults to the report of the run in directory plain.
func spelled(ts *testscript.TestScript, fault string) {
	runFault(ts, "0", "3", fault)
	sameReports(ts, false, []string{"plain", fault})
}

// refused holds a run with a fault, FAULT:CODE, to ending at once, with the code as
// its reason.
func refused(ts *testscript.TestScript, fault string) {
	name, code, _ := strings.Cut(fault, ":")
	runFault(ts, "6", "1", name)
	if got := jobLines(ts, name, "outcome", "reason_code"); got != "provider "+code+"\n" {
		ts.Fatalf("%s: %s", name, got)
	}
	if retry.MatchString(ts.ReadFile(filepath.Join(name, "events.jsonl"))) {
		ts.Fatalf("%s was retried", name)
	}
}

// retried holds a run with a fault of one request, FAULT:NUMBER, to passing after a
// retry.
func retried(ts *testscript.TestScript, fault string) {
	name, number, _ := strings.Cut(fault, ":")
	runFault(ts, "0", "4", name, number+"-"+number)
	if got := jobLines(ts, name, "outcome", "turns", "usage.output"); !recovered.MatchString(got) {
		ts.Fatalf("%s: %s", name, got)
	}
	if !retry.MatchString(ts.ReadFile(filepath.Join(name, "events.jsonl"))) {
		ts.Fatalf("no retry of %s is reported", name)
	}
}

var (
	retry     = regexp.MustCompile(`"type":"retry".*"attempt":1`)
	recovered = regexp.MustCompile(`^passed 3 [34][0-9]\n$`) // what was lost is an estimate
)
