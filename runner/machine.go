package runner

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
)

// fault returns the stop for an error: of the machine if that lacks something, otherwise of code.
func fault(code event.Code, err error) *stop {
	if proc.IsMachine(err) {
		code = event.CodeMachine
	}
	return &stop{code: code, detail: err.Error()}
}

// noteMachine ends the job if the machine lacks something. It returns the error.
func (j *job) noteMachine(err error) error {
	if proc.IsMachine(err) {
		j.end(session.Timeout{Code: event.CodeMachine, Reason: err.Error()})
	}
	return err
}

// notPrepared returns the stop of a job whose workspace could not be prepared; s is nil if it has none.
func (j *job) notPrepared(ctx context.Context, s *site, err error) *stop {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	code := event.CodeRepository
	if files.IsFull(err) || errors.Is(err, unix.EROFS) {
		code, err = j.ofDisk(s, err)
	}
	return fault(code, fmt.Errorf("prepare the workspace: %w", err))
}

// ofDisk adds the disk that is full or read-only, and a fix, to an error.
func (j *job) ofDisk(s *site, err error) (event.Code, error) {
	if s != nil && s.origin != nil {
		code, git := event.CodeMachine, s.origin.Git.Common
		if j.spec.Repo.Kind == tasks.RepoPath {
			code = event.CodeCommit
		}
		switch {
		case files.IsFull(err) && files.Full(git):
			return code, fmt.Errorf("the disk of the repository is full (%s): free space there: %w", git, err)
		case files.ReadOnly(git):
			return code, fmt.Errorf("the disk of the repository is read-only (%s): mount it writable: %w", git, err)
		}
	}
	switch {
	case !files.IsFull(err):
		return event.CodeMachine, err
	case j.opts.Keep:
		return event.CodeMachine, fmt.Errorf("the disk of the kept worktrees is full (%s): free space there: %w", j.opts.Work, err)
	}
	return event.CodeMachine, fmt.Errorf("the disk of TMPDIR is full (%s): free space there, or set TMPDIR to a directory on another disk: %w", j.opts.Work, err)
}
