package changes

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/textcut"
)

// WorkTree is the work tree in which the changes of a job are found, with the states that it is compared with.
type WorkTree struct {
	Tree      *gitops.Repo    // a linked worktree, or the repository itself
	InPlace   bool            // the tree is the user's own
	Before    *state.Snapshot // at the start of the job; nil before that is known
	Committed *state.Snapshot // of the base, in the directory that the job changes; nil for worktrees
	Ignored   *state.LeftOut  // in the user's own tree, by the walk that found its state at the start; nil if unknown
	Reports   []string        // paths in the tree that belong to millhand

	untracked untracked
}

// untracked collects the files that are in no change of the job, and that commands
// created or changed after setup where verify commands could read them. In the user's tree, where
// they stay, it collects all.
type untracked struct {
	known bool             // start is
	start *state.Untracked // the state after setup; nil for no files
	kinds map[string]state.Kind
}

// ComparedWith returns the snapshot of the base, limited to what the job changes.
func (p *WorkTree) ComparedWith() *state.Snapshot {
	if p.InPlace {
		return p.Committed
	}
	return p.Before
}

// staysIgnored reports whether files that git ignores and that were changed since setup stay in
// the user's own tree, so that the edit rules hold for them.
func (p *WorkTree) staysIgnored() bool { return p.InPlace && p.untracked.known }

// NoteStart records the state of the files that are in no change of the job, before there is any output of a model that could
// change them. Without collects, only those of the user's own tree are. If nothing has run yet, they are those that the walk of
// the start has found.
func (p *WorkTree) NoteStart(ctx context.Context, collects, nothingRan bool) (err error) {
	defer func() { p.untracked.known = err == nil }()
	p.untracked.kinds = map[string]state.Kind{}
	switch {
	case !p.InPlace && !collects:
		return nil
	case p.Ignored != nil && nothingRan:
		p.untracked.start, err = p.Ignored.Files(ctx, p.Reports)
	default:
		p.untracked.start, err = p.Tree.Untracked(ctx, p.Before, p.Reports)
	}
	return err
}

// NoteUntracked adds the files that verify, or the user, can see now.
func (p *WorkTree) NoteUntracked(ctx context.Context) error {
	if !p.untracked.known {
		return nil
	}
	now, err := p.Tree.Untracked(ctx, p.Before, p.Reports)
	if err != nil {
		return err
	}
	p.untracked.note(now)
	return nil
}

// NoteIgnored adds the files that git ignores and that differ now, and returns their paths.
func (p *WorkTree) NoteIgnored(ctx context.Context, ignored *state.LeftOut) ([]string, error) {
	now, err := ignored.Files(ctx, p.Reports)
	if err != nil {
		return nil, err
	}
	return p.untracked.note(now), nil
}

// note adds the files that differ now, and returns their paths.
func (u *untracked) note(now *state.Untracked) (paths []string) {
	for _, c := range now.Since(u.start) {
		u.kinds[c.Path] = c.Kind
		paths = append(paths, c.Path)
	}
	return paths
}

// UntrackedInputs returns the entries of a report for the files that were collected.
func (p *WorkTree) UntrackedInputs() []event.Untracked {
	return summarize(p.untracked.kinds, maxUntracked)
}

// Warning returns what to warn of the files that were collected; "" for none.
func (p *WorkTree) Warning() string {
	var paths []string
	for _, f := range p.UntrackedInputs() {
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
	if p.InPlace {
		text = "new or changed files that are not in the job's changes stay in the working tree: "
	}
	return text + textcut.List(paths)
}
