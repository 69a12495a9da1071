package result

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// setupKey matches the key that lacks, as package envfault proposes it.
var setupKey = regexp.MustCompile(`add setup: \[([^\[\]]+)\]`)

// lacksSetup returns the flags that would run the setup commands that the reasons of failed jobs
// propose; "" for none.
func lacksSetup(rep *report.Report) string {
	for _, j := range rep.Jobs {
		if m := setupKey.FindStringSubmatch(j.Reason); m != nil {
			return planned.SetupFlags(m[1])
		}
	}
	return ""
}

// Message returns what prints the final message and nothing else: the document if there is a
// schema. Where it is displayed, its control characters and workflow commands are made
// visible. setup is whether the run had setup commands.
func Message(quiet, setup bool) Printer {
	return func(w world.World, rep *report.Report, dir string) {
		for _, j := range rep.Jobs {
			text := strings.TrimRight(j.FinalMessage, "\n")
			if len(j.Output) > 0 {
				text = string(j.Output)
			}
			if view.Displayed(w.Out, w.Getenv) {
				text = printable.Text(text)
			}
			if text != "" {
				fmt.Fprintln(w.Out, text)
			}
		}
		if quiet {
			return
		}
		summary.Reasons(w.Err, rep) //nolint:errcheck // see output
		if hint := lacksSetup(rep); hint != "" && !setup {
			fmt.Fprintln(w.Err, printable.Line("no setup commands were run: add "+hint, 1000))
		}
		fmt.Fprintf(w.Err, "reports: %s\n", printable.Text(dir))
	}
}
