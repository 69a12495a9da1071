package site

import (
	"context"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/proc"
)

// filters returns the filters of the job's tree. Their commands are the user's, and run
// in the sandbox of the task's commands: they can be scripts of the repository.
func (b *Sandboxes) filters(ctx context.Context) content.Filters {
	f := content.Filters{Apply: true, Pushed: b.site.job.Spec.Publish.Pushes(), Context: context.WithoutCancel(ctx)} // changes are collected whatever happens
	if box := b.Own; box != nil {
		f.Command = &proc.Command{Dir: b.site.Space.Dir(), Env: box.Env, Confine: box.Confine(), Disk: box.Disk()}
	}
	return f
}
