package site

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/runner/ending"
)

// notPrepared returns the stop of a job whose workspace could not be prepared; s is nil if it has none.
func notPrepared(ctx context.Context, o *Options, s *Site, err error) *ending.Stop {
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	code := event.CodeRepository
	if files.IsFull(err) || errors.Is(err, unix.EROFS) {
		code, err = ofDisk(o, s, err)
	}
	return ending.Fault(code, fmt.Errorf("prepare the workspace: %w", err))
}

// ofDisk adds the disk that is full or read-only, and a fix, to an error.
func ofDisk(o *Options, s *Site, err error) (event.Code, error) {
	if s != nil && s.Origin != nil {
		git := s.Origin.Git.Common
		switch {
		case files.IsFull(err) && files.Full(git):
			return event.CodeCommit, fmt.Errorf("the disk of the repository is full (%s): free space there: %w", git, err)
		case files.ReadOnly(git):
			return event.CodeCommit, fmt.Errorf("the disk of the repository is read-only (%s): mount it writable: %w", git, err)
		}
	}
	switch {
	case !files.IsFull(err):
		return event.CodeMachine, err
	case o.Keep:
		return event.CodeMachine, fmt.Errorf("the disk of the kept worktrees is full (%s): free space there: %w", o.Work, err)
	}
	return event.CodeMachine, fmt.Errorf("the disk of TMPDIR is full (%s): free space there, or set TMPDIR to a directory on another disk: %w", o.Work, err)
}
