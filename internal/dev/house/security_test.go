package house

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// SECURITY.md and package sandbox list the same gaps of level B.
func TestGapsOfLevelBAreDocumented(t *testing.T) {
	page := read(t, "SECURITY.md")
	_, list, found := strings.Cut(page, "### The gaps of level B")
	list, _, ended := strings.Cut(list, "\n### ")
	doc := strings.Join(strings.Fields(strings.ReplaceAll(read(t, "internal/sandbox/doc.go"), "//", " ")), " ")
	_, gaps, listed := strings.Cut(doc, "[Partial] does not restrict")
	gaps, _, _ = strings.Cut(gaps, "Neither level restricts")
	if !found || !ended || !listed {
		t.Fatal("a list of gaps is missing")
	}
	rows := regexp.MustCompile(`(?m)^\| (.*) \| .* \|$`).FindAllStringSubmatch(list, -1)[1:]
	// The start of each row, and a phrase in the documentation of package sandbox.
	phrases := map[string]string{
		"metadata:": "owner, mode, times", "whether other files exist": "whether a file exists", "a path that is read-only or hidden": "read-only or hidden inside of",
		"names and arguments": "names and arguments", "the priority": "the priority and CPU affinity", "signals to": "signals to",
	}
	for row := range phrases {
		if !slices.ContainsFunc(rows, func(r []string) bool { return strings.HasPrefix(r[1], row) }) {
			t.Errorf("SECURITY.md has no gap that starts with %q", row)
		}
	}
	count := 0
	for gap := range strings.SplitSeq(gaps[:strings.Index(gaps, "Usability at")], ";") {
		count++
		if !slices.ContainsFunc(slices.Collect(maps.Values(phrases)), func(w string) bool { return strings.Contains(gap, w) }) {
			t.Errorf("SECURITY.md lacks a gap of internal/sandbox: %s", gap)
		}
	}
	if count < 5 {
		t.Errorf("internal/sandbox/doc.go has %d gaps", count)
	}
}

// The table of SECURITY.md agrees with the states of the sandbox levels in reports.
func TestGuaranteesByLevel(t *testing.T) {
	page := read(t, "SECURITY.md")
	if !strings.Contains(page, "| commands can't | A | B | external | off |") {
		t.Fatal("the table of levels is missing")
	}
	for row, at := range map[string]func(sandbox.State) bool{
		"write outside of the workspace":    func(s sandbox.State) bool { return s.FS },
		"access the network except through": func(s sandbox.State) bool { return s.Net },
		"see other processes":               func(s sandbox.State) bool { return s.PID },
	} {
		cells := regexp.MustCompile(`(?m)^\| ` + row + `.*$`).FindString(page)
		columns := strings.Split(cells, "|")
		if len(columns) != 7 {
			t.Fatalf("no row %q", row)
		}
		for i, level := range []sandbox.Level{sandbox.Full, sandbox.Partial, sandbox.Outside, sandbox.None} {
			if guaranteed := strings.TrimSpace(columns[i+2]) == "yes"; guaranteed != at(level.State()) {
				t.Errorf("%s, level %s: guaranteed: %t", row, level, guaranteed)
			}
		}
	}
}

// docs/sandbox.md has the numbers and names of the code.
func TestSandboxPage(t *testing.T) {
	page := read(t, "docs/sandbox.md")
	l := tasks.DefaultLimits()
	for _, want := range []string{fmt.Sprintf("| %d |", l.Processes), fmt.Sprintf("| %dGB |", l.Disk/1e9)} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/sandbox.md lacks %q", want)
		}
	}
	for _, group := range reach.Groups() {
		if !strings.Contains(page, "`"+group+"`") {
			t.Errorf("docs/sandbox.md lacks the group %s", group)
		}
	}
}
