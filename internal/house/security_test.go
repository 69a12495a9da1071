package house

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/reach"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// Every gap of level B that the sandbox knows of is in SECURITY.md's list, and
// the other way round: a promise must not be kept in one place only.
func TestTheGapsOfLevelBAreTheSameEverywhere(t *testing.T) {
	page := read(t, "SECURITY.md")
	_, list, found := strings.Cut(page, "### The gaps of level B")
	list, _, ended := strings.Cut(list, "\n### ")
	doc := strings.Join(strings.Fields(strings.ReplaceAll(read(t, "internal/sandbox/doc.go"), "//", " ")), " ")
	_, gaps, listed := strings.Cut(doc, "What [Partial] doesn't hold")
	gaps, _, _ = strings.Cut(gaps, "What neither holds")
	if !found || !ended || !listed {
		t.Fatal("a list of gaps is missing")
	}
	rows := regexp.MustCompile(`(?m)^\| (.*) \| .* \|$`).FindAllStringSubmatch(list, -1)[1:]
	// How each row begins, and a word by which package sandbox tells of it.
	words := map[string]string{
		"metadata:": "owner, mode, times", "whether other files exist": "whether a file exists", "a path that is read-only or hidden": "read-only or hidden inside of",
		"names and arguments": "names and arguments", "the priority": "the priority and the processors", "signals to": "signals to",
	}
	for row := range words {
		if !slices.ContainsFunc(rows, func(r []string) bool { return strings.HasPrefix(r[1], row) }) {
			t.Errorf("SECURITY.md has no gap that begins with %q", row)
		}
	}
	told := 0
	for gap := range strings.SplitSeq(gaps[:strings.Index(gaps, "There, too,")], ";") {
		told++
		if !slices.ContainsFunc(slices.Collect(maps.Values(words)), func(w string) bool { return strings.Contains(gap, w) }) {
			t.Errorf("internal/sandbox tells of a gap that SECURITY.md has not: %s", gap)
		}
	}
	if told < 5 {
		t.Errorf("internal/sandbox/doc.go tells of %d gaps", told)
	}
}

// The columns of SECURITY.md's table are the levels, and what reports say of
// them agrees.
func TestTheLevelsOfSecurityAreTheSandboxs(t *testing.T) {
	page := read(t, "SECURITY.md")
	if !strings.Contains(page, "| commands that are run can't | A | B | external | off |") {
		t.Fatal("there is no table of levels")
	}
	for row, at := range map[string]func(sandbox.State) bool{
		"write outside of the workspace":     func(s sandbox.State) bool { return s.FS },
		"reach the network but by the proxy": func(s sandbox.State) bool { return s.Net },
		"see other processes":                func(s sandbox.State) bool { return s.PID },
	} {
		cells := regexp.MustCompile(`(?m)^\| ` + row + `.*$`).FindString(page)
		columns := strings.Split(cells, "|")
		if len(columns) != 7 {
			t.Fatalf("no row %q", row)
		}
		for i, level := range []sandbox.Level{sandbox.Full, sandbox.Partial, sandbox.Outside, sandbox.None} {
			if promised := strings.TrimSpace(columns[i+2]) == "yes"; promised != at(level.State()) {
				t.Errorf("%s, level %s: promised: %t", row, level, promised)
			}
		}
	}
}

// Numbers and names of docs/sandbox.md are those of the code.
func TestTheSandboxsPageSaysWhatHolds(t *testing.T) {
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
