package runner

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// afterCommit runs the hooks of after_commit if there is a commit.
func (d *delivery) afterCommit(ctx context.Context) *ending.Stop {
	if d.made.Hash == "" {
		return nil
	}
	return site.JobHooks{Site: d.Site}.Run(ctx, tasks.AfterCommit, event.CodeExtension, func(in *hook.Input) { in.Commit = d.hookCommit() })
}

// hookCommit returns the commit of the job; nil without one.
func (d *delivery) hookCommit() *hook.Commit {
	if d == nil || d.made.Hash == "" {
		return nil
	}
	return &hook.Commit{Hash: d.made.Hash, Branch: d.made.Branch}
}
