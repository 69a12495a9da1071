package runner

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/textcut"
)

// place is where the changes of a job are found: its work tree, and the states that it is compared with.
type place struct {
	tree      *gitops.Repo     // a linked worktree, or the repository itself
	inPlace   bool             // the tree is the user's own
	before    *gitops.Snapshot // at the start of the job; nil before that is known
	committed *gitops.Snapshot // of the base, in the directory that the job changes; nil for worktrees
	ignored   *gitops.LeftOut  // in the user's own tree, by the walk that found its state at the start; nil if unknown
	reports   []string         // paths in the tree that belong to millhand

	untracked untracked
}

// untracked collects the files that are in no change of the job, and that commands
// created or changed after setup where verify commands could read them. In the user's tree, where
// they stay, it collects all.
type untracked struct {
	known bool              // start is
	start *gitops.Untracked // the state after setup; nil for no files
	kinds map[string]gitops.Kind
}

// comparedWith returns the snapshot of the base, limited to what the job changes.
func (p *place) comparedWith() *gitops.Snapshot {
	if p.inPlace {
		return p.committed
	}
	return p.before
}

// staysIgnored reports whether files that git ignores and that were changed since setup stay in
// the user's own tree, so that the edit rules hold for them.
func (p *place) staysIgnored() bool { return p.inPlace && p.untracked.known }

// noteStart records the state of the files that are in no change of the job, before there is any output of a model that could
// change them. Without collects, only those of the user's own tree are. If nothing has run yet, they are those that the walk of
// the start has found.
func (p *place) noteStart(ctx context.Context, collects, nothingRan bool) (err error) {
	defer func() { p.untracked.known = err == nil }()
	p.untracked.kinds = map[string]gitops.Kind{}
	switch {
	case !p.inPlace && !collects:
		return nil
	case p.ignored != nil && nothingRan:
		p.untracked.start, err = p.ignored.Files(ctx, p.reports)
	default:
		p.untracked.start, err = p.tree.Untracked(ctx, p.before, p.reports)
	}
	return err
}

// noteUntracked adds the files that verify, or the user, can see now.
func (p *place) noteUntracked(ctx context.Context) error {
	if !p.untracked.known {
		return nil
	}
	now, err := p.tree.Untracked(ctx, p.before, p.reports)
	if err != nil {
		return err
	}
	p.untracked.note(now)
	return nil
}

// noteIgnored adds the files that git ignores and that differ now, and returns their paths.
func (p *place) noteIgnored(ctx context.Context, ignored *gitops.LeftOut) ([]string, error) {
	now, err := ignored.Files(ctx, p.reports)
	if err != nil {
		return nil, err
	}
	return p.untracked.note(now), nil
}

// note adds the files that differ now, and returns their paths.
func (u *untracked) note(now *gitops.Untracked) (paths []string) {
	for _, c := range now.Since(u.start) {
		u.kinds[c.Path] = c.Kind
		paths = append(paths, c.Path)
	}
	return paths
}

// untrackedInputs returns the entries of a report for the files that were collected.
func (p *place) untrackedInputs() []event.Untracked {
	return summarize(p.untracked.kinds, maxUntracked)
}

// warning returns what to warn of the files that were collected; "" for none.
func (p *place) warning() string {
	var paths []string
	for _, f := range p.untrackedInputs() {
		text := f.Path
		if f.Files > 1 {
			text += fmt.Sprintf(" (%d files)", f.Files)
		}
		paths = append(paths, text)
	}
	if len(paths) == 0 {
		return ""
	}
	text := "verify could read new or changed files that are not in the job's changes: "
	if p.inPlace {
		text = "new or changed files that are not in the job's changes stay in the working tree: "
	}
	return text + textcut.List(paths)
}
