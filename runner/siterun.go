package runner

import (
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/gitfile"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
)

// SiteOptions are what the sites of a run need of its options.
type SiteOptions struct {
	RunID string
	Dir   *files.Dir // for the run's files
	// Private are absolute report directories, which commands and tools can't access,
	// even in a workspace. A .millhand that contains one is hidden from commands.
	Private    []string
	Work       string // private directory for worktrees and temporary files: exists, absolute, removed by the caller
	Keep       bool   // do not remove worktrees
	Git        gitdir.Env
	Preflight  *preflight.Result // result of the plan's preflight
	Level      sandbox.Level     // of all commands
	Sandbox    sandbox.State     // description of Level
	System     *sandbox.Private  // private files of the system; nil: those of sandbox.NewPrivate
	Getenv     func(string) string
	Redact     *redact.Redactor // for files, events and tool results; nil for none
	Now        func() time.Time
	Emit       func(event.Event)
	Trees      Trees
	History    history.Run // what earlier processes did, and what this one does; the zero value for a new run
	NoBaseline bool        // no verify command runs before the agent starts
}

// Trees are what the owner of Work does with worktrees. Both may be called concurrently, and be nil.
type Trees struct {
	// Left is called with each worktree whose changes are not saved elsewhere: the
	// caller must not remove it.
	Left func(tree string)
	// Discard moves a worktree away and removes it concurrently. Without it, or if it fails, a job waits
	// for the removal.
	Discard func(tree string) error
}

// discard removes a worktree.
func (t Trees) discard(tree string) error {
	if t.Discard == nil || t.Discard(tree) != nil {
		return gitfile.RemoveAll(tree)
	}
	return nil
}
