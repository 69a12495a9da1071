package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// printScripts prints the scripts of the plan's jobs.
func printScripts(out io.Writer, plan *tasks.Plan) {
	var files []string
	for _, j := range plan.Jobs {
		if j.Script != nil && !slices.Contains(files, j.Script.File) {
			files = append(files, j.Script.File)
		}
	}
	if len(files) > 0 {
		fmt.Fprintf(out, "scripts: %s: run before a session\n", printable.Line(strings.Join(files, ", "), printable.Width))
	}
}
