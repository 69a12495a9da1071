package pulls

import (
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/savedjob"
)

// cells returns the cells of the lines of a table, and the lines below it.
func cells(t *testing.T, rows ...Row) [][]string {
	t.Helper()
	var b strings.Builder
	if err := Print(&b, rows); err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(b.String()) {
		all = append(all, strings.Fields(line))
	}
	return all
}

func TestTableOfStatesNamesWhatPeopleHaveToDo(t *testing.T) {
	pull := func(change func(*forge.PullRequest)) Row {
		pr := forge.PullRequest{Number: 7, URL: "https://forge.test/7", State: forge.Open, Checks: forge.ChecksPassed, Mergeable: forge.CanMerge}
		change(&pr)
		return Row{Job: "one", Repo: "web", PullRequest: newState(pr, "abc")}
	}
	for want, row := range map[string]Row{
		"one web 7 open passed yes https://forge.test/7":         pull(func(*forge.PullRequest) {}),
		"one web 7 open (draft) passed yes https://forge.test/7": pull(func(p *forge.PullRequest) { p.Draft = true }),
		"one web 7 open none unknown https://forge.test/7":       pull(func(p *forge.PullRequest) { p.Checks, p.Mergeable = forge.NoChecks, forge.MergeUnknown }),
		"one web 7 open passed no (conflicts) https://forge.test/7": pull(func(p *forge.PullRequest) {
			p.Mergeable, p.Conflict = forge.CannotMerge, true
		}),
		"one web 7 open passed no (conflicts), or checking https://forge.test/7": pull(func(p *forge.PullRequest) {
			p.Mergeable, p.Conflict = forge.MergeUnknown, true
		}),
		"one web 7 merged passed - https://forge.test/7": pull(func(p *forge.PullRequest) { p.State = forge.Merged }),
		"one web - - - - -": {Job: "one", Repo: "web"},
	} {
		lines := cells(t, row)
		if got := strings.Join(lines[1], " "); got != want || lines[0][3] != "STATE" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// If a row has a result, the table has results, and reasons are below it.
func TestTableOfResultsHasReasonsBelow(t *testing.T) {
	lines := cells(t, Row{Job: "one", Repo: "web", Result: "merged"}, Row{Job: "two", Repo: "web", Result: "not\x1bready", Reason: "its checks\nfailed", exit: event.ExitFailed})
	if len(lines) != 4 || strings.Join(lines[0], " ") != "JOB REPO PR RESULT URL" || strings.Join(lines[3], " ") != "two: its checks failed" {
		t.Errorf("%q", lines)
	}
	for _, line := range lines {
		if strings.Contains(strings.Join(line, " "), "\x1b") {
			t.Errorf("a control character: %q", line)
		}
	}
}

func TestExitCodeIsTheWorstOfAllRows(t *testing.T) {
	if got := Worst(nil); got != event.ExitOK {
		t.Errorf("no rows: %d", got)
	}
	if got := Worst([]Row{{exit: event.ExitOK}, {exit: event.ExitPublish}, {exit: event.ExitFailed}}); got != event.Worst([]event.Exit{event.ExitFailed, event.ExitPublish}) {
		t.Errorf("%d", got)
	}
}

// An inverse pull request is of the commit that the run has pushed, not of one of another run on the same branch.
func TestInverseOfAnotherRunIsNotFound(t *testing.T) {
	m := manage(t, forgetest.Pull{Number: 1, Branch: "millhand/a", State: "merged"}, forgetest.Pull{Number: 2, Branch: savedjob.RevertBranch("millhand/a"), State: "open"})
	r, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	client, at, err := r.clients.Open(m.remote)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := client.FindAll(t.Context(), at, forge.Head{Branch: savedjob.RevertBranch("millhand/a")}); err != nil || len(all) != 1 {
		t.Fatalf("%d pull requests, %v", len(all), err)
	}
	if pr, err := InverseOf(t.Context(), client, at, "millhand/a", hash(1)); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%+v, %v", pr, err)
	}
}

// Pull requests whose description has no variable of the patterns are left as they are.
func TestOnlyJobsWithPatternsAreAnnotated(t *testing.T) {
	m := manage(t, inEachState()...)
	r, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var notes []string
	before := m.states()
	Annotate(t.Context(), m.world, r.clients.Open, &report.Report{Jobs: m.saved.Report.Jobs}, nil, nil, r.Known, func(text string) { notes = append(notes, text) })
	if len(notes) > 0 || m.states() != before {
		t.Errorf("%q, %s", notes, m.states())
	}
}
