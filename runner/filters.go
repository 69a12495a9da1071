package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// filters refuses a repository with files that the job could change and not commit,
// because of their filter or encoding. It warns of filters that are not configured.
func (p *preflight) filters(ctx context.Context, j tasks.Job, o *origin, base string) error {
	if j.Commit == nil || base == "" {
		return nil
	}
	rules := landing.EditsOf(j, o.root(), o.below)
	k := base + "\x00" + rules.String()
	found, known := o.converted[k]
	if !known {
		var err error
		if found, err = o.repo.Converted(ctx, base, o.below, func(path string) bool { return len(rules.Barred([]string{path})) > 0 }); err != nil {
			return err
		}
		o.converted[k] = found
	}
	var reasons []string
	for _, c := range found {
		reason := "the working-tree-encoding " + c.Encoding + " is not supported"
		if c.Filter != "" {
			reason = o.repo.Unfilterable(c.Filter, j.Publish.Pushes())
		}
		switch f := o.repo.Git.Filter(c.Filter); {
		case reason != "":
			reasons = append(reasons, fmt.Sprintf("%s: %s", textcut.List(c.Paths), reason))
		case f.Clean == "" && f.Process == "":
			p.warn(fmt.Sprintf("the filter %s is not configured in git: files are stored as they are (%s of %s)", c.Filter, textcut.List(c.Paths), j.Repo.Name))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return refuse(event.CodeFilter, "%s; add these paths to commit.protect, so that the job can't change them, or exclude the repository", strings.Join(reasons, "; "))
}

// sparse warns of a sparse checkout: a worktree gets all files, and a job without a worktree sees only those that
// are checked out.
func (p *preflight) sparse(j tasks.Job, o *origin) {
	switch {
	case !o.repo.Git.Sparse():
	case inPlace(j, o.head):
		p.warn(o.repo.Root() + " is a sparse checkout (core.sparseCheckout): jobs without a worktree have only the files that are checked out; the others stay as they are in commits")
	default:
		p.warn(o.repo.Root() + " is a sparse checkout (core.sparseCheckout): the worktrees of jobs have all files")
	}
}

// warn adds a warning for the start of the run.
func (p *preflight) warn(text string) {
	if !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}

// The limits of one run of a filter.
const (
	filterTime   = 2 * time.Minute
	filterOutput = 100 << 20 // bytes
	filterErrors = 1 << 10   // bytes of its standard error in messages
)

// filtersOf returns the filters of the job's tree. Their commands are the user's, and run
// in the sandbox of the task's commands: they can be scripts of the repository.
func (j *job) filtersOf(ctx context.Context, s *site) content.Filters {
	ctx = context.WithoutCancel(ctx) // changes are collected whatever happens
	return content.Filters{
		Clean: func(command, _ string, content []byte) ([]byte, error) {
			return j.clean(ctx, s, command, content)
		},
		Pushed: j.spec.Publish.Pushes(),
	}
}

// clean runs a clean command on a content.
func (j *job) clean(ctx context.Context, s *site, command string, content []byte) ([]byte, error) {
	box, end := s.box()
	if end != nil {
		return nil, errors.New(end.Detail)
	}
	dir, err := files.MakeTemp(proc.Value(box.Env, "TMPDIR"), "millhand-filter-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir.Path())
	defer dir.Close()
	input, fault := filepath.Join(dir.Path(), "input"), filepath.Join(dir.Path(), "errors.txt")
	if err := dir.WriteNew("input", content); err != nil {
		return nil, err
	}
	var out limitedBuffer
	res, err := proc.Run(ctx, proc.Command{
		Args: []string{"bash", "-c", `exec sh -c "$1" <"$2" 2>"$3"`, "bash", command, input, fault},
		Dir:  s.space.Dir(), Env: box.Env, Timeout: filterTime, Output: &out, Confine: box.Confine(), Monitor: box.Monitor(),
	})
	switch {
	case err != nil:
		return nil, err
	case res.TimedOut:
		return nil, fmt.Errorf("command timed out after %s", filterTime)
	case res.ExitCode != 0:
		var text []byte
		if f, err := dir.Read("errors.txt"); err == nil { // missing means none
			defer f.Close()
			text, _ = io.ReadAll(io.LimitReader(f, filterErrors)) // an unreadable one, too
		}
		return nil, fmt.Errorf("exit code %d: %s", res.ExitCode, textcut.OneLine(string(text)))
	}
	return out.Bytes(), out.err
}

// limitedBuffer fails a command that prints more than filterOutput bytes.
type limitedBuffer struct {
	bytes.Buffer
	err error
}

func (b *limitedBuffer) Write(data []byte) (int, error) {
	if b.Len()+len(data) > filterOutput {
		b.err = errors.New("too much output")
		return 0, b.err
	}
	return b.Buffer.Write(data)
}
