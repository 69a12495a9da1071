package outlook

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

func planTable(out io.Writer, plan *tasks.Plan, notes map[string]note, m *models.Set) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tREPO\tMODEL\tPROFILE\tBRANCH\tVERIFY\tNEEDS\tAT MOST\tNOTE")
	for _, j := range plan.Jobs {
		var checks []string
		for _, v := range j.Verify {
			checks = append(checks, v.Name)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			j.ID, j.Repo.Name, j.ModelName, j.Profile.Name, branchOf(j), dash(checks), dash(j.Needs), atMost(maxCost(m, j, notes[j.ID])), printable.Line(notes[j.ID].String(), 200))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	left := ""
	if len(notes) > 0 {
		left = fmt.Sprintf(", %d with a note", len(notes))
	}
	cost := "unlimited cost"
	if most := maxRunCost(m, notes); most != nil {
		cost = "maximum cost " + atMost(most)
	}
	_, err := fmt.Fprintf(out, "\n%s%s, %s, %d in parallel, plan %.12s\n", figures.Count(len(plan.Jobs), "job"), left, cost, plan.Parallel, plan.Hash)
	return err
}

func atMost(usd *money.USD) string {
	if usd == nil {
		return "unlimited"
	}
	return "$" + usd.String()
}

func branchOf(j tasks.Job) string {
	if j.Commit == nil {
		return "(not committed)"
	}
	return j.Commit.Branch
}

func dash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}
