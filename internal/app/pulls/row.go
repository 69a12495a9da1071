package pulls

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/printable"
)

// Row is the pull request of a job.
type Row struct {
	Job         string `json:"job"`
	Repo        string `json:"repo"`
	PullRequest *State `json:"pull_request"` // nil without one, and if the forge did not return it
	Result      Result `json:"result,omitempty"`
	Reason      string `json:"reason"`

	exit event.Exit
}

// State is a pull request as its forge describes it now.
type State struct {
	Number    int64       `json:"number"`
	URL       string      `json:"url"`
	State     forge.State `json:"state"`
	Draft     bool        `json:"draft"`
	Checks    string      `json:"checks"`    // passed, failed, pending or none
	Mergeable string      `json:"mergeable"` // yes, no or unknown
	Conflicts bool        `json:"conflicts"`
	Base      string      `json:"base"`
	Branch    string      `json:"branch"`
	Commit    string      `json:"commit"` // of its head
	Pushed    string      `json:"pushed"` // commit that the run has pushed
}

func newState(pr forge.PullRequest, pushed string) *State {
	return &State{
		Number: pr.Number, URL: pr.URL, State: pr.State, Draft: pr.Draft, Checks: cmp.Or(string(pr.Checks), "none"),
		Mergeable: cmp.Or(string(pr.Mergeable), "unknown"), Conflicts: pr.Conflict, Base: pr.Base, Branch: pr.Head.Branch, Commit: pr.SHA, Pushed: pushed,
	}
}

// Worst returns the exit code for rows.
func Worst(rows []Row) event.Exit {
	var exits []event.Exit
	for _, row := range rows {
		exits = append(exits, row.exit)
	}
	return event.Worst(exits)
}

// Print prints rows for people.
func Print(out io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	header := []string{"JOB", "REPO", "PR", "STATE", "CHECKS", "MERGEABLE", "URL"}
	for _, row := range rows {
		if row.Result != "" {
			header = append(header[:2:2], "PR", "RESULT", "URL")
			break
		}
	}
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := []string{row.Job, row.Repo}
		if row.Result != "" {
			cells = append(cells, numberOf(row.PullRequest), string(row.Result), urlOf(row.PullRequest))
		} else {
			cells = append(cells, stateCells(row.PullRequest)...)
		}
		for i, cell := range cells {
			cells[i] = printable.Line(cell, printable.Width)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range rows { // too long for the table
		if row.Reason != "" {
			if _, err := fmt.Fprintf(out, "%s: %s\n", printable.Line(row.Job, printable.Width), printable.Line(row.Reason, 1000)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateCells returns the cells of a pull request.
func stateCells(p *State) []string {
	if p == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	state, mergeable := string(p.State), p.Mergeable
	if p.Draft {
		state += " (draft)"
	}
	switch {
	case p.State != forge.Open:
		mergeable = "-"
	case p.Conflicts && p.Mergeable != string(forge.CannotMerge):
		mergeable = "no (conflicts), or checking"
	case p.Conflicts:
		mergeable = "no (conflicts)"
	}
	return []string{numberOf(p), state, p.Checks, mergeable, p.URL}
}

func numberOf(p *State) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(p.Number)
}

func urlOf(p *State) string {
	if p == nil {
		return "-"
	}
	return p.URL
}
