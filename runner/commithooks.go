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
func (l *landed) afterCommit(ctx context.Context) *ending.Stop {
	if l.made.Hash == "" {
		return nil
	}
	return site.JobHooks{Site: l.site}.Run(ctx, tasks.AfterCommit, event.CodeExtension, func(in *hook.Input) { in.Commit = l.hookCommit() })
}

// hookCommit returns the commit of the job; nil without one.
func (l *landed) hookCommit() *hook.Commit {
	if l == nil || l.made.Hash == "" {
		return nil
	}
	return &hook.Commit{Hash: l.made.Hash, Branch: l.made.Branch}
}
