// Package compared compares the changes of the jobs of a run by package patterns, and writes what they share for a terminal, as JSON
// and for the descriptions of pull requests (package pulls adds it to them, as [world.World.PullTexts]). It changes nothing.
package compared

import (
	"context"
	"io"
	"io/fs"
	"strings"

	"github.com/millhand/millhand/internal/app/patterns"
	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
)

// Print prints the edits that the jobs of a run share, and the jobs to read.
func Print(ctx context.Context, w world.World, o shown.ReportOptions) error {
	return shown.Run(w, o.Run, func(out io.Writer, r *report.Report, files fs.FS) error {
		found := Of(files, r)
		if o.JSON {
			return printable.WriteJSON(out, struct {
				Run string `json:"run"`
				*patterns.Result
			}{r.Run.ID, found})
		}
		return shown.Paged(ctx, w, func(out io.Writer) error { return terminal(out, found, shown.Painter(w)) })
	})
}

// Of compares the patches of the jobs that passed or committed, from the files of a report directory.
func Of(files fs.FS, r *report.Report) *patterns.Result {
	c, others := &patterns.Collector{}, 0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Patch == "" && !j.Continued() || j.Outcome != event.Passed && j.Commit == nil {
			others++
			continue
		}
		change := patterns.Change{Job: j.ID, Repo: j.Repo, Partial: j.Continued()}
		if j.PullRequest != nil {
			change.URL = j.PullRequest.URL
		}
		if j.Patch == "" {
			c.Add(change, strings.NewReader(""))
			continue
		}
		addPatch(c, change, files, j.Patch)
	}
	result := c.Result()
	result.OtherJobs = others
	return result
}

func addPatch(c *patterns.Collector, change patterns.Change, files fs.FS, name string) {
	f, err := rundir.OpenFile(files, name)
	if err != nil {
		c.Add(change, missing{err})
		return
	}
	defer f.Close()
	c.Add(change, f)
}

// missing is a patch that can't be read.
type missing struct{ err error }

func (m missing) Read([]byte) (int, error) { return 0, m.err }
