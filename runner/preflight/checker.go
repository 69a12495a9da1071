package preflight

import "github.com/millhand/millhand/tasks"

// checker is one preflight of a plan.
type checker struct {
	Options
	plan    *tasks.Plan
	origins *origins
	taken   map[string]string  // by directory of the branches and branch: the job whose it is
	forks   map[string]*forked // by URL of the repository and publish.fork

	warnings []string // for the start of the run
}
