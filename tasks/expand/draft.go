package expand

import (
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

// draft is a job while it is made.
type draft struct {
	job    tasks.Job
	task   *manifest.Task
	repo   *repolist.Repo
	unsure bool      // the task's repositories are not known: what jobs share can't be checked
	branch string    // what its branch is called by default
	digest [3]string // of what all jobs of the task share
}
