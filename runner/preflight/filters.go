package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// filters refuses a repository with files that the job could change and not commit,
// because of their filter or encoding. It warns of filters that are not configured.
func (p *checker) filters(ctx context.Context, j tasks.Job, o *origin, base string) error {
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
		switch f := o.repo.Git.Config.Filter(c.Filter); {
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
func (p *checker) sparse(j tasks.Job, o *origin) {
	switch {
	case !o.repo.Git.Config.Sparse():
	case InPlace(j, o.head):
		p.warn(o.repo.Root() + " is a sparse checkout (core.sparseCheckout): jobs without a worktree have only the files that are checked out; the others stay as they are in commits")
	default:
		p.warn(o.repo.Root() + " is a sparse checkout (core.sparseCheckout): the worktrees of jobs have all files")
	}
}

// warn adds a warning for the start of the run.
func (p *checker) warn(text string) {
	if !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}
