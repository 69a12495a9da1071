package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/outputs"
)

// landed is what has become of the changes of a site: a patch, a commit and a push.
type landed struct {
	job     *job
	site    *site.Site
	changes *state.ChangeSet  // nil until they are measured
	left    []changes.LeftOut // of the changes
	patch   string            // path below the report directory; "" for none
	digest  string            // SHA-256 of the patch
	made    gitops.CommitResult
	pull    int64 // number of the job's pull request, once it is published; 0 for none

	baseline []event.Baseline // of the job, for its pull request
	result   *ending.Result   // likewise; nil for the work of an earlier run
}

// findChanges determines the changes of the job and saves them as a patch.
func (l *landed) findChanges(ctx context.Context) *ending.Stop {
	f, err := l.site.Diff.Find(ctx)
	if err == nil {
		err = l.warnOutsideWorkspace(ctx)
	}
	if err != nil {
		return ending.OfGit(ctx, "find the job's changes", err)
	}
	cs, left := f.Changes, f.Ignored
	l.changes, l.left = cs, f.LeftOut
	measured := make([]event.Change, 0, len(cs.Changes))
	for _, c := range cs.Changes {
		measured = append(measured, event.Change{Path: c.Path, Kind: string(c.Kind), Added: c.Added, Removed: c.Removed})
	}
	l.job.Emit(event.Event{Type: event.ChangesFound, Changes: measured, LeftOut: changes.SummarizeLeft(l.left)})
	for _, refused := range cs.Refused {
		l.job.Warn(fmt.Sprintf("%s can't be committed: %s", refused.Path, refused.Reason))
	}
	l.warnMixedCommit(cs)
	for _, text := range changes.TrackedAmong(l.left) {
		l.job.Warn(text)
	}
	var paths []string // ignored files that the job changed
	var unlisted error
	if left != nil {
		if paths, unlisted = l.site.NoteIgnored(ctx, left); unlisted != nil {
			l.job.Warn(unlisted.Error())
		}
	}
	if text := l.site.Warning(); text != "" {
		l.job.Warn(text)
	}
	if len(measured) == 0 {
		if end := l.forgotten(); end != nil {
			return end
		}
		if l.job.Spec.RequireChanges {
			return &ending.Stop{Code: event.CodeFailed, Detail: "the task requires changes and nothing was changed"}
		}
		return nil
	}
	leaks, err := l.findLeaks(ctx)
	if err != nil {
		return ending.OfGit(ctx, "look for secrets in the job's changes", err)
	}
	if err := l.keepPatch(ctx, leaks); err != nil {
		if l.job.Spec.Commit == nil || l.job.Spec.Publish == tasks.PublishPatch {
			return ending.OfGit(ctx, "save the patch of the job", err)
		}
		l.job.Warn(fmt.Sprintf("save the patch of the job: %v; the changes are committed without it", err))
	}
	if end := l.leaked(leaks); end != nil {
		return end
	}
	if unlisted != nil {
		return ending.OfGit(ctx, "find the ignored files that the job changed", unlisted)
	}
	for _, c := range cs.Changes {
		paths = append(paths, c.Path)
	}
	if end := landing.Protected(landing.Edits{Profile: l.job.Spec.Profile, Root: l.site.Tree.Root(), Below: l.site.Below}.Barred(paths)); end != nil {
		return end
	}
	if end := l.unpermitted(cs); end != nil {
		return end
	}
	over, err := landing.Excesses(ctx, l.site.Tree, l.site.Below, l.job.Spec.Change, cs)
	if err != nil {
		return ending.OfGit(ctx, "compare the job's changes with the limits of change", err)
	}
	return landing.OutOfScope(over)
}

// warnOutsideWorkspace warns of changes in a job's worktree outside of the workspace, which
// only commands without a sandbox can make: they are lost.
func (l *landed) warnOutsideWorkspace(ctx context.Context) error {
	if l.site.Below == "" || l.site.InPlace || l.job.opts.Level == sandbox.Full || l.job.opts.Level == sandbox.Partial {
		return nil
	}
	base, err := l.site.Tree.SnapshotOf(l.site.Base)
	if err != nil {
		return err
	}
	all, err := l.site.Tree.Changes(ctx, base)
	if err != nil {
		return err
	}
	var elsewhere []string
	for _, c := range all.Changes {
		if !state.IsBelow(c.Path, l.site.Below) {
			elsewhere = append(elsewhere, c.Path)
		}
	}
	if len(elsewhere) > 0 {
		l.job.Warn(fmt.Sprintf("changes outside of the workspace %s are excluded: %s", l.site.Below, textcut.List(elsewhere)))
	}
	return nil
}

// warnMixedCommit warns of files with changes of both the user and the job: the commit
// contains both.
func (l *landed) warnMixedCommit(cs *state.ChangeSet) {
	if l.job.Spec.Commit == nil {
		return
	}
	var mixed []string
	for _, c := range cs.Changes {
		if slices.Contains(l.site.Dirty, c.Path) {
			mixed = append(mixed, c.Path)
		}
	}
	if len(mixed) > 0 {
		l.job.Warn(fmt.Sprintf("previously uncommitted changes are committed together with those of the job in %s", textcut.List(mixed)))
	}
}

func (l *landed) keepPatch(ctx context.Context, leaks []landing.Leak) error {
	patch, err := l.site.Tree.Patch(ctx, l.changes.Without(landing.Opaque(leaks)))
	if err != nil {
		return err
	}
	patch, held := landing.Redacted(patch, leaks, l.job.opts.Redact)
	if held {
		l.job.Warn(landing.KeyInPatch)
	}
	name := path.Join("patches", l.job.Spec.ID+".patch")
	write := func() error {
		return l.job.opts.Dir.WriteAtomic(name, func(out io.Writer) error {
			_, err := out.Write(patch)
			return err
		})
	}
	err = write()
	if files.IsFull(err) {
		// Saved outputs are less important than changes that are paid for.
		if gone := outputs.GiveUp(l.job.opts.Dir.Sub("outputs")); gone == nil {
			l.job.Warn("saved outputs of calls were removed: the disk of the report directory was full")
			err = write()
		}
	}
	if err == nil {
		l.patch, l.digest = name, fmt.Sprintf("%x", sha256.Sum256(patch))
	}
	return err
}

// measured reports whether the changes are known.
func (l *landed) measured() bool { return l != nil && l.changes != nil }

// lacking returns the paths of the job that its patch does not have, because git would not commit them,
// and those that a run before it lacked, which the state that it continued from has not either.
func (l *landed) lacking() []string { return append(l.unsavable(), l.lackedBefore()...) }

// unsavable returns the paths that can neither be committed nor be in the patch.
func (l *landed) unsavable() (paths []string) {
	if l.changes == nil || l.made.Hash != "" {
		return nil
	}
	for _, r := range l.changes.Refused {
		if !slices.ContainsFunc(l.changes.Changes, func(c state.Change) bool { return state.IsBelow(c.Path, r.Path) }) {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// lackedBefore returns the paths that an earlier process found to be missing from the patch, and that are
// not in the working tree: its saved states don't have them. A follow-up prompt can have removed them.
func (l *landed) lackedBefore() (paths []string) {
	if l.site.Tree == nil {
		return nil
	}
	for _, p := range l.job.History.Lacks() {
		if _, err := os.Lstat(filepath.Join(l.site.Tree.Root(), filepath.FromSlash(p))); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, p)
		}
	}
	return paths
}

// lost reports whether there are changes that are saved neither as a patch nor as a
// commit.
func (l *landed) lost() bool {
	return len(l.unsavable()) > 0 || l.patch == "" && l.made.Hash == "" && (l.changes == nil || len(l.changes.Changes) > 0)
}

// incomplete returns the stop of a job of whose changes not all can be committed, or, if it makes only a
// patch, are in the patch.
func (l *landed) incomplete() *ending.Stop {
	if before := l.lackedBefore(); len(before) > 0 {
		return &ending.Stop{Code: event.CodeCommit, Detail: fmt.Sprintf("%s can't be committed, and the saved state that the job was resumed from does not have it; continue with another prompt: millhand session resume %s %s --prompt PROMPT", textcut.List(before), l.job.opts.RunID, l.job.Spec.ID)}
	}
	if l.job.Spec.Commit == nil || len(l.changes.Refused) == 0 {
		return nil
	}
	if lacking := l.lacking(); l.job.Spec.Publish == tasks.PublishPatch {
		if len(lacking) == 0 {
			return nil
		}
		return &ending.Stop{Code: event.CodeCommit, Detail: "the patch lacks what can't be committed: " + textcut.List(lacking)}
	}
	var list []string
	code := event.CodeNested
	for _, r := range l.changes.Refused {
		list = append(list, r.Reason+": "+r.Path)
		if r.Reason != state.NestedRepository {
			code = event.CodeCommit
		}
	}
	return &ending.Stop{Code: code, Detail: "can't commit: " + textcut.List(list)}
}

// commit commits exactly the changes of the job.
func (l *landed) commit(ctx context.Context) *ending.Stop {
	if end := l.incomplete(); end != nil {
		return end
	}
	if l.job.Spec.Commit == nil || l.job.Spec.Publish == tasks.PublishPatch || len(l.changes.Changes)+len(l.changes.Refused) == 0 {
		return nil // if all paths are refused, the commit returns the reason
	}
	if l.patch == "" {
		ctx = context.WithoutCancel(ctx) // the changes are not saved elsewhere
	}
	if err := l.record(ctx, l.message("")); err != nil {
		what := "commit"
		if l.site.InPlace && errors.Is(err, gitdir.ErrConflict) {
			what = "commit in place (if the agent has committed by itself, its commits are on the branch)"
		}
		return ending.OfGit(ctx, what, err)
	}
	return nil
}

// commitWIP commits the partial work of a job that was ended by a limit or a budget, if
// its task has commit.wip, so that a later run can continue. The commit is not pushed,
// and a failure is only a warning.
func (l *landed) commitWIP(ctx context.Context, end *ending.Stop) {
	ended := end.Outcome() == event.Limit || end.Outcome() == event.Budget
	if l.job.Spec.Commit == nil || !l.job.Spec.Commit.WIP || !ended || !l.site.Touched || l.job.Spec.Publish == tasks.PublishPatch || pushesFromMirror(l.job.Spec) ||
		l.changes == nil || len(l.changes.Changes) == 0 {
		return
	}
	if err := l.record(ctx, l.message(end.Outcome())); err != nil {
		l.job.Warn(fmt.Sprintf("commit work in progress: %v; it is saved as a patch", err))
	}
}

// record commits the job's changes with a message.
func (l *landed) record(ctx context.Context, message string) error {
	branch := l.job.Spec.Commit.Branch
	if l.site.InPlace || pushesFromMirror(l.job.Spec) {
		branch = "" // the checked-out branch
	}
	author, committer := l.job.Signatures()
	message = landing.Witnessed(message, l.job.Spec.ID, l.job.opts.About.Head)
	l.job.Emit(event.Event{Type: event.CommitStarted, Commit: &event.Commit{Branch: l.job.Spec.Commit.Branch, Message: message}})
	signature := ""
	var sign func(context.Context, []byte) (string, error)
	if l.job.Spec.Commit.Signed() {
		sign = func(ctx context.Context, commit []byte) (_ string, err error) {
			signature, err = l.job.opts.Preflight.Signing.Sign(ctx, commit)
			return signature, err
		}
	}
	done, err := l.site.Tree.Commit(ctx, l.changes, gitops.CommitOptions{
		Sign: sign, Parent: l.site.Base, Branch: branch, Message: message, Author: author, Committer: committer,
		Replaces: l.job.Start.Tip, MustNotExist: branch != "" && l.job.Start.Tip == "" && l.job.Spec.Repo.Kind != tasks.RepoURL,
		Force:     branch != "" && l.job.Spec.Repo.Kind == tasks.RepoURL, // branches in a mirror are leftovers of earlier runs
		Discarded: l.site.Linked() && !l.job.opts.Keep && l.site.Hooks == nil,
	})
	if err != nil {
		return err
	}
	if pushesFromMirror(l.job.Spec) {
		done.Branch = l.job.Spec.Commit.Branch
	}
	l.made = done
	l.job.Emit(event.Event{Type: event.Committed, Commit: &event.Commit{
		Hash: done.Hash, Branch: done.Branch, Message: message, Author: author.String(), Committer: committer.String(), Signature: signature,
	}})
	return nil
}

// pushesFromMirror reports whether the commit is only pushed from a mirror. Existing
// branches of the mirror, from earlier runs, are then ignored.
func pushesFromMirror(spec tasks.Job) bool {
	return spec.Repo.Kind == tasks.RepoURL && spec.Publish.Pushes()
}

// message returns the message of the job's commit. outcome is set for a job that did not finish.
func (l *landed) message(unfinished event.Outcome) string {
	final := ""
	if l.result != nil && unfinished == "" {
		final = l.result.Final
	}
	return l.job.Message(l.site.Base, final, unfinished)
}

// findLeaks returns the secrets in the text that the job's changes add. A secret that
// was in one of the changed files before is not a leak.
func (l *landed) findLeaks(ctx context.Context) ([]landing.Leak, error) {
	changes, err := l.committed(ctx)
	if err != nil {
		return nil, err
	}
	return landing.Leaks(ctx, l.site.Tree, changes, l.job.opts.Redact)
}

// committed returns the job's changes as a commit would contain them: of files with
// uncommitted changes of the user, a commit includes these changes.
func (l *landed) committed(ctx context.Context) (*state.ChangeSet, error) {
	mixed := slices.ContainsFunc(l.changes.Changes, func(c state.Change) bool { return slices.Contains(l.site.Dirty, c.Path) })
	if l.job.Spec.Commit == nil || !l.site.InPlace || l.site.Base != "" && !mixed {
		return l.changes, nil
	}
	base, err := l.site.Tree.SnapshotOf(l.site.Base)
	if err != nil {
		return nil, err
	}
	all, err := l.site.Tree.Changes(ctx, base.Below(l.site.Below))
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range all.Changes {
		if !slices.ContainsFunc(l.changes.Changes, func(own state.Change) bool { return own.Path == c.Path }) {
			others = append(others, c.Path)
		}
	}
	return all.Without(others), nil
}

// leaked returns the stop of a job whose changes must not be committed, or nil with a
// warning if the job makes only a patch.
func (l *landed) leaked(leaks []landing.Leak) *ending.Stop {
	if len(leaks) == 0 {
		return nil
	}
	var where []string
	for _, k := range leaks {
		where = append(where, k.String())
	}
	text := "the changes contain secrets that were not in the repository: " + textcut.List(slices.Compact(where))
	if l.job.Spec.Commit == nil {
		l.job.Warn(text + "; they are redacted in the patch")
		return nil
	}
	return &ending.Stop{
		Code:   event.CodeSecret,
		Detail: text + "; nothing was committed, and they are redacted in the patch",
	}
}
