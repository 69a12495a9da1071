package summary

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/rollouttext"
)

// Text writes the report for a terminal: the final message of a single job, a table of
// the jobs, a table by repository and task if there are several of both or many jobs, the totals,
// the reasons of jobs that did not pass, and the warnings. It makes control characters
// visible or removes them, and breaks workflow commands. Except in the message, no line
// starts with text of a model.
func Text(w io.Writer, r *report.Report) error {
	return PaintedText(w, r, func(o event.Outcome) string { return string(o) })
}

// PaintedText is [Text] with the outcomes of jobs as paint formats them, which may add
// colours.
func PaintedText(w io.Writer, r *report.Report, paint func(event.Outcome) string) error {
	var b bytes.Buffer
	if message := finalMessage(r); message != "" {
		fmt.Fprintf(&b, "%s\n\n", message)
	}
	if err := writeTable(&b, r.Jobs, paint); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if g := newGrid(r.Jobs); g != nil && (len(g.tasks) > 1 || len(g.rows) < len(r.Jobs) || len(r.Jobs) > maxRows) { // otherwise it repeats the table
		if err := writeGrid(&b, g); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	fmt.Fprintf(&b, "\nrun %s: %s (exit code %d)\n%s\n", printable.Plain(r.Run.ID), r.Run.Outcome, r.Run.ExitCode, sentence(r))
	for _, line := range rollouttext.Lines(r.Run.Rollout) {
		fmt.Fprintln(&b, printable.Plain(line))
	}
	writeReasons(&b, r)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Reasons writes why jobs did not pass, and the warnings, as [Text] has them.
func Reasons(w io.Writer, r *report.Report) error {
	var b bytes.Buffer
	writeReasons(&b, r)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Brief writes the result of a run in one line.
func Brief(w io.Writer, r *report.Report) error {
	if _, err := fmt.Fprintf(w, "run %s: %s (exit code %d): %s\n", printable.Plain(r.Run.ID), r.Run.Outcome, r.Run.ExitCode, sentence(r)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// finalMessage returns the final message of a run with a single job, printable.
func finalMessage(r *report.Report) string {
	if len(r.Jobs) != 1 {
		return ""
	}
	return printable.Disarm(printable.Visible(strings.TrimRight(r.Jobs[0].FinalMessage, " \t\r\n")))
}

func writeTable(b *bytes.Buffer, jobs []report.Job, paint func(event.Outcome) string) error {
	var rows, aligned bytes.Buffer
	fmt.Fprintln(&rows, "OUTCOME\tJOB\tTURNS\tCALLS\tCOST\tTIME\tCOMMIT")
	for _, j := range jobs {
		commit := "-"
		if j.Commit != nil {
			commit = printable.Plain(j.Commit.Branch + "@" + short(j.Commit.Hash))
		}
		fmt.Fprintf(&rows, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n",
			j.Outcome, printable.Plain(j.ID), j.Turns, j.CallCount(), money.Rounded(j.CostUSD), figures.Duration(j.ElapsedMS), commit)
	}
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	if _, err := rows.WriteTo(table); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	head, _ := aligned.ReadString('\n')
	b.WriteString(head)
	for _, j := range jobs {
		row, _ := aligned.ReadString('\n')
		b.WriteString(paint(j.Outcome) + strings.TrimPrefix(row, string(j.Outcome))) // painted now, as the table would count colours as columns
	}
	return nil
}

// writeReasons writes the reasons of jobs, in a run of many jobs each once, and the warnings.
func writeReasons(b *bytes.Buffer, r *report.Report) {
	write := func(outcome event.Outcome, names, reason string) {
		if reason == "" {
			return
		}
		fmt.Fprintf(b, "\n%s %s\n", outcome, names)
		for line := range strings.Lines(strings.TrimSpace(reason)) {
			fmt.Fprintf(b, "  | %s\n", printable.Plain(line))
		}
	}
	if len(r.Jobs) <= maxMessages {
		for _, j := range r.Jobs {
			write(j.Outcome, printable.Plain(j.ID), j.Reason)
		}
	} else {
		for _, c := range r.Causes() {
			var names []string
			for _, j := range c.Jobs {
				names = append(names, printable.Plain(j.ID))
			}
			write(c.Outcome, listed(names), c.Reason)
		}
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintln(b)
	}
	for _, warning := range r.Warnings {
		about := ""
		if warning.Job != nil {
			about = printable.Plain(*warning.Job) + ": "
		}
		fmt.Fprintf(b, "warning: %s%s\n", about, printable.Plain(warning.Message))
	}
}
