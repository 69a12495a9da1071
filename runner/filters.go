package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// filters refuses a repository with files that the job could change and not commit,
// because of their filter or encoding. It warns of filters that are not configured.
func (p *preflight) filters(ctx context.Context, j tasks.Job, o *origin, base string) error {
	if j.Commit == nil || base == "" {
		return nil
	}
	protect := protected(j, o.below)
	k := base + "\x00" + strings.Join(protect, "\x00")
	found, known := o.converted[k]
	if !known {
		var err error
		if found, err = o.repo.Converted(ctx, base, o.below, protect); err != nil {
			return err
		}
		o.converted[k] = found
	}
	var reasons []string
	for _, c := range found {
		reason := "the working-tree-encoding " + c.Encoding + " is not supported"
		if c.Filter != "" {
			reason = o.repo.Unfilterable(c.Filter, j.Publish == tasks.PublishPush)
		}
		switch f := o.repo.Git.Filter(c.Filter); {
		case reason != "":
			reasons = append(reasons, fmt.Sprintf("%s: %s", firstThree(c.Paths), reason))
		case f.Clean == "" && f.Process == "":
			p.warn(fmt.Sprintf("the filter %s is not configured in git: files are stored as they are (%s of %s)", c.Filter, firstThree(c.Paths), j.Repo.Name))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return refuse(event.CodeFilter, "%s; add these paths to commit.protect, so that they are never committed, or exclude the repository", strings.Join(reasons, "; "))
}

// sparse decides about a sparse checkout: a worktree gets all files, but in place a
// commit could contain paths that git refuses to add.
func (p *preflight) sparse(j tasks.Job, o *origin, inPlace bool) error {
	switch {
	case !o.repo.Git.Sparse():
		return nil
	case inPlace && j.Commit != nil:
		return refuse(event.CodeUnsupported, "%s is a sparse checkout (core.sparseCheckout), which can't be committed to in place: use another branch, or git sparse-checkout disable", o.repo.Root())
	}
	p.warn(o.repo.Root() + " is a sparse checkout (core.sparseCheckout): the worktrees of jobs have all files")
	return nil
}

// warn adds a warning for the start of the run.
func (p *preflight) warn(text string) {
	if !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}
