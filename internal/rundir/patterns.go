package rundir

import (
	"io/fs"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/patterns"
)

// Patterns compares the patches of the jobs that passed or committed, from the files of a
// report directory.
func Patterns(files fs.FS, r *report.Report) *patterns.Result {
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
	f, err := regularIn(files, name)
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
