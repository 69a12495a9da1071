package event

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/text/figures"
)

// Ablation is the payload of ablation.started: verify runs again without each hunk of a change that passed.
type Ablation struct {
	Hunks   int   `json:"hunks"`    // that are tried
	Tests   int   `json:"tests"`    // that are tried without the change
	MaxRuns int   `json:"max_runs"` // the maximum number of runs of all verify commands
	TimeMS  int64 `json:"time_ms"`  // in which they run
	Jobs    int   `json:"jobs"`     // the number of checkouts in which they run concurrently
}

// Trial is the payload of trial: the verify commands ran in a clean checkout on some of the changes of a job.
type Trial struct {
	Key       string   `json:"key"`        // identifies the files and the commands
	Failed    []string `json:"failed"`     // commands; only the first one of a trial that ends then
	ElapsedMS int64    `json:"elapsed_ms"` // milliseconds
}

// Hunks is the payload of ablation.ended: what became of each hunk of a job's change.
type Hunks struct {
	Needed     int             `json:"needed"`   // hunks without which a verify command fails
	Unneeded   int             `json:"unneeded"` // hunks that no verify command needs
	Untried    int             `json:"untried"`  // the others
	Reason     string          `json:"reason"`   // why some are untried; empty if none is
	Runs       int             `json:"runs"`     // of all verify commands, those of earlier processes included
	MaxRuns    int             `json:"max_runs"` // as stated before
	ElapsedMS  int64           `json:"elapsed_ms"`
	Flaky      []string        `json:"flaky"`       // verify commands that passed and failed on the same files, and count for nothing
	List       []Hunk          `json:"list"`        // in the order of paths and lines, without those of tests
	Tests      []ProvedTest    `json:"tests"`       // that the change adds, and changed test files
	Assertions []LostAssertion `json:"assertions"`  // that the change deletes from tests, replaces or weakens, and tests that it deletes or skips
	Omitted    int             `json:"omitted"`     // entries that the lists lack, because they are too long
	ProvesNone bool            `json:"proves_none"` // the change has nothing but tests, which nothing can prove
}

// Hunk is a unit of a change that verify ran without.
type Hunk struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"` // lines, added, deleted, replaced or mode
	Line    int    `json:"line"` // first line in the changed file, from 1; 0 for a file
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	State   string `json:"state"` // needed, unneeded or untried
	By      string `json:"by"`    // verify command that fails without it; empty unless it is needed
}

// String describes where a hunk is.
func (h Hunk) String() string {
	switch {
	case h.Kind != "lines":
		return fmt.Sprintf("%s (%s)", h.Path, h.Kind)
	case h.Added > 1:
		return fmt.Sprintf("%s:%d-%d", h.Path, h.Line, h.Line+h.Added-1)
	}
	return fmt.Sprintf("%s:%d", h.Path, h.Line)
}

// ProvedTest is a test that a change adds, or a test file that it changes.
type ProvedTest struct {
	Path        string `json:"path"`          // relative to the root of the repository
	Name        string `json:"name"`          // of the test case; empty for a file
	Added       bool   `json:"added"`         // the change adds it
	FailsOnBase *bool  `json:"fails_on_base"` // whether it fails without the rest of the change; null if that is not known
}

// String names the test.
func (t ProvedTest) String() string { return strings.TrimSpace(t.Path + " " + t.Name) }

// LostAssertion is an assertion of a test that a change deletes, replaces or weakens, or a test that it deletes or skips.
type LostAssertion struct {
	Path string `json:"path"` // relative to the root of the repository
	Kind string `json:"kind"` // deleted, replaced, weaker, loosened, expected, logged, commented, skipped, ignored, test_deleted or test_replaced
	Line int    `json:"line"` // from 1: before the change, or after it for skipped and ignored
	Was  string `json:"was"`  // its text, or the name of the test; empty for skipped and ignored
	Now  string `json:"now"`  // what replaces it; empty if it is deleted
}

// lossNotes describes the kinds of LostAssertion.
var lossNotes = map[string]string{
	"deleted": "assertion deleted", "replaced": "assertion replaced", "weaker": "assertion weakened", "loosened": "tolerance or bound loosened",
	"expected": "expected value changed", "logged": "failure only printed", "commented": "assertion commented out", "skipped": "test skipped",
	"ignored": "exit code ignored", "test_deleted": "test deleted", "test_replaced": "test renamed or replaced",
}

// ofTest reports whether it is about a test and not an assertion.
func (a LostAssertion) ofTest() bool {
	return a.Kind == "skipped" || a.Kind == "ignored" || a.Kind == "test_deleted" || a.Kind == "test_replaced"
}

// note describes it.
func (a LostAssertion) note() Note {
	what := lossNotes[a.Kind]
	switch {
	case what == "" && a.Now == "":
		what = "assertion deleted"
	case what == "":
		what = "assertion replaced"
	}
	text := a.Was
	if a.Was != "" && a.Now != "" {
		text += " -> "
	}
	return Note{what, fmt.Sprintf("%s:%d: %s", a.Path, a.Line, text+a.Now)}
}

// UnneededHunks returns the hunks of the list that no command needs.
func (h *Hunks) UnneededHunks() (all []Hunk) {
	for _, one := range h.List {
		if one.State == "unneeded" {
			all = append(all, one)
		}
	}
	return all
}

// Passing returns the tests that pass without the change, unless there is nothing that they could prove.
func (h *Hunks) Passing() (all []ProvedTest) {
	for _, t := range h.Tests {
		if t.FailsOnBase != nil && !*t.FailsOnBase && !h.ProvesNone {
			all = append(all, t)
		}
	}
	return all
}

// Note is what the ablation found about something.
type Note struct{ What, About string }

// Notes lists what a reviewer looks at: hunks that nothing needs, tests that prove nothing, lost assertions and flaky commands.
func (h *Hunks) Notes() (all []Note) {
	for _, one := range h.UnneededHunks() {
		all = append(all, Note{"needed by nothing", one.String()})
	}
	for _, t := range h.Passing() {
		all = append(all, Note{"passes without the change", t.String()})
	}
	for _, a := range h.Assertions {
		note := a.note()
		if a.Kind == "expected" && h.ProvesNone {
			note.What += ", and no code"
		}
		all = append(all, note)
	}
	for _, name := range h.Flaky {
		all = append(all, Note{"flaky, counts for nothing", name})
	}
	return all
}

// Line is the result in one line, for example "41 of 44 hunks needed; 2 by nothing; 1 not tried; 3 new tests, 3 fail
// without the change".
func (h *Hunks) Line() string {
	parts := []string{fmt.Sprintf("%d of %s needed", h.Needed, figures.Count(h.Needed+h.Unneeded+h.Untried, "hunk"))}
	if h.Unneeded > 0 {
		parts = append(parts, fmt.Sprintf("%d by nothing", h.Unneeded))
	}
	if h.Untried > 0 {
		parts = append(parts, fmt.Sprintf("%d not tried", h.Untried))
	}
	fails, changed := 0, 0
	for _, t := range h.Tests {
		if t.FailsOnBase != nil && *t.FailsOnBase {
			fails++
		}
		if !t.Added {
			changed++
		}
	}
	if n := len(h.Tests); n > 0 {
		noun, verb := "new test", "fail"
		if changed > 0 {
			noun = "new or changed test"
		}
		if fails == 1 {
			verb = "fails"
		}
		parts = append(parts, fmt.Sprintf("%s, %d %s without the change", figures.Count(n, noun), fails, verb))
	}
	ofTests := 0
	for _, a := range h.Assertions {
		if a.ofTest() {
			ofTests++
		}
	}
	if n := len(h.Assertions) - ofTests; n > 0 {
		parts = append(parts, figures.Count(n, "assertion")+" deleted or replaced")
	}
	if ofTests > 0 {
		parts = append(parts, figures.Count(ofTests, "test")+" deleted, replaced or skipped")
	}
	return strings.Join(parts, "; ")
}
