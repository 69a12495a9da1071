package delivery

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/hook"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// AfterCommit runs the hooks of after_commit if there is a commit.
func (d *Delivery) AfterCommit(ctx context.Context) *ending.Stop {
	if d.Made.Hash == "" {
		return nil
	}
	return site.JobHooks{Site: d.Site}.Run(ctx, tasks.AfterCommit, event.CodeExtension, func(in *hook.Input) { in.Commit = d.HookCommit() })
}

// HookCommit returns the commit of the job; nil without one.
func (d *Delivery) HookCommit() *hook.Commit {
	if d == nil || d.Made.Hash == "" {
		return nil
	}
	return &hook.Commit{Hash: d.Made.Hash, Branch: d.Made.Branch}
}
