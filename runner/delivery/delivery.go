package delivery

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
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/outputs"
)

// Delivery is what has become of the changes of a site: a patch, a commit and a push.
type Delivery struct {
	Work
	Changes *state.ChangeSet  // nil until they are measured
	LeftOut []changes.LeftOut // of the changes
	Patch   string            // path below the report directory; "" for none
	Digest  string            // SHA-256 of the patch
	Made    gitops.CommitResult
	pull    event.PullRequest // of the job, once it is published; the zero value for none
}

// Work is what a job leaves in its site, and what its delivery uses of the job and its run.
type Work struct {
	Job      *site.Job
	Options  *site.Options // of the run
	Site     *site.Site
	Baseline []event.Baseline // of the job, for its pull request
	Result   *ending.Result   // likewise; nil for the work of an earlier run
	Requests *Requests
	Profile  permission.Profile // of the job's own session
	Advice   string             // which profile to set, because nothing was changed; "" for none

	Head   func(job string) string // hash of the last event of a job, for the trailers of commits; nil for none
	RunURL string                  // of the run in CI; "" outside of CI
}

// FindChanges measures the changes of the job, and refuses those that break a rule. They are saved as a patch before
// that: a job that is refused loses nothing.
func (d *Delivery) FindChanges(ctx context.Context) *ending.Stop {
	found, end := d.measure(ctx)
	if end != nil {
		return end
	}
	cs := d.Changes
	if len(cs.Changes) == 0 {
		if end := d.barred(ctx, found); end != nil {
			return end
		}
		if end := d.forgotten(); end != nil {
			return end
		}
		if d.Job.Spec.RequireChanges {
			return &ending.Stop{Code: event.CodeFailed, Detail: "the task requires changes and nothing was changed"}
		}
		return nil
	}
	leaks, err := d.findLeaks(ctx)
	if err != nil {
		return ending.OfGit(ctx, "look for secrets in the job's changes", err)
	}
	if err := d.keepPatch(ctx, leaks); err != nil {
		if d.Job.Spec.Commit == nil || d.Job.Spec.Publish == tasks.PublishPatch {
			return ending.OfGit(ctx, "save the patch of the job", err)
		}
		d.Job.Warn(fmt.Sprintf("save the patch of the job: %v; the changes are committed without it", err))
	}
	if end := d.leaked(leaks); end != nil {
		return end
	}
	if end := d.barred(ctx, found); end != nil {
		return end
	}
	if end := d.unpermitted(cs); end != nil {
		return end
	}
	over, err := landing.Excesses(ctx, d.Site.Tree, d.Site.Below, d.Job.Spec.Change, cs)
	if err != nil {
		return ending.OfGit(ctx, "compare the job's changes with the limits of change", err)
	}
	return landing.OutOfScope(over)
}

// ignored are the files that git ignores and the job changed, or why they are not known.
type ignored struct {
	paths []string
	err   error
}

// measure reports what the job changed, and warns of what is in no commit.
func (d *Delivery) measure(ctx context.Context) (found ignored, end *ending.Stop) {
	f, err := d.Site.Diff.Find(ctx)
	if err == nil {
		err = d.warnOutsideWorkspace(ctx)
	}
	if err != nil {
		return found, ending.OfGit(ctx, "find the job's changes", err)
	}
	d.Changes, d.LeftOut = f.Changes, f.LeftOut
	measured := make([]event.Change, 0, len(d.Changes.Changes))
	for _, c := range d.Changes.Changes {
		measured = append(measured, event.Change{Path: c.Path, Kind: string(c.Kind), Added: c.Added, Removed: c.Removed})
	}
	d.Job.Emit(event.Event{Type: event.ChangesFound, Changes: measured, LeftOut: changes.SummarizeLeft(d.LeftOut)})
	for _, refused := range d.Changes.Refused {
		d.Job.Warn(fmt.Sprintf("%s can't be committed: %s", refused.Path, refused.Reason))
	}
	d.warnMixedCommit(d.Changes)
	for _, text := range changes.TrackedAmong(d.LeftOut) {
		d.Job.Warn(text)
	}
	if f.Ignored != nil {
		if found.paths, found.err = d.Site.NoteIgnored(ctx, f.Ignored); found.err != nil {
			d.Job.Warn(found.err.Error())
		}
	}
	if text := d.Site.Warning(); text != "" {
		d.Job.Warn(text)
	}
	return found, nil
}

// barred returns the stop of a job that changed a path that a rule denies, also one that git ignores.
func (d *Delivery) barred(ctx context.Context, found ignored) *ending.Stop {
	if found.err != nil {
		return ending.OfGit(ctx, "find the ignored files that the job changed", found.err)
	}
	paths := found.paths
	for _, c := range d.Changes.Changes {
		paths = append(paths, c.Path)
	}
	if len(paths) == 0 { // there may be no tree
		return nil
	}
	return landing.Protected(landing.Edits{Profile: d.Job.Spec.Profile, Root: d.Site.Tree.Root(), Below: d.Site.Below}.Barred(paths))
}

// warnOutsideWorkspace warns of changes in a job's worktree outside of the workspace, which
// only commands without a sandbox can make: they are lost.
func (d *Delivery) warnOutsideWorkspace(ctx context.Context) error {
	if d.Site.Below == "" || d.Site.InPlace || d.Options.Level == sandbox.Full || d.Options.Level == sandbox.Partial {
		return nil
	}
	base, err := d.Site.Tree.SnapshotOf(d.Site.Base)
	if err != nil {
		return err
	}
	all, err := d.Site.Tree.Changes(ctx, base)
	if err != nil {
		return err
	}
	var elsewhere []string
	for _, c := range all.Changes {
		if !state.IsBelow(c.Path, d.Site.Below) {
			elsewhere = append(elsewhere, c.Path)
		}
	}
	if len(elsewhere) > 0 {
		d.Job.Warn(fmt.Sprintf("changes outside of the workspace %s are excluded: %s", d.Site.Below, textcut.List(elsewhere)))
	}
	return nil
}

// warnMixedCommit warns of files with changes of both the user and the job: the commit
// contains both.
func (d *Delivery) warnMixedCommit(cs *state.ChangeSet) {
	if d.Job.Spec.Commit == nil {
		return
	}
	var mixed []string
	for _, c := range cs.Changes {
		if slices.Contains(d.Site.Dirty, c.Path) {
			mixed = append(mixed, c.Path)
		}
	}
	if len(mixed) > 0 {
		d.Job.Warn(fmt.Sprintf("previously uncommitted changes are committed together with those of the job in %s", textcut.List(mixed)))
	}
}

func (d *Delivery) keepPatch(ctx context.Context, leaks []landing.Leak) error {
	patch, err := d.Site.Tree.Patch(ctx, d.Changes.Without(landing.Opaque(leaks)))
	if err != nil {
		return err
	}
	patch, held := landing.Redacted(patch, leaks, d.Options.Redact)
	if held {
		d.Job.Warn(landing.KeyInPatch)
	}
	name := path.Join("patches", d.Job.Spec.ID+".patch")
	write := func() error {
		return d.Options.Dir.WriteAtomic(name, func(out io.Writer) error {
			_, err := out.Write(patch)
			return err
		})
	}
	err = write()
	if files.IsFull(err) {
		// Saved outputs are less important than changes that are paid for.
		if gone := outputs.GiveUp(d.Options.Dir.Sub("outputs")); gone == nil {
			d.Job.Warn("saved outputs of calls were removed: the disk of the report directory was full")
			err = write()
		}
	}
	if err == nil {
		d.Patch, d.Digest = name, fmt.Sprintf("%x", sha256.Sum256(patch))
	}
	return err
}

// Measured reports whether the changes are known.
func (d *Delivery) Measured() bool { return d != nil && d.Changes != nil }

// Lacking returns the paths of the job that its patch does not have, because git would not commit them,
// and those that a run before it lacked, which the state that it continued from has not either.
func (d *Delivery) Lacking() []string { return append(d.unsavable(), d.lackedBefore()...) }

// unsavable returns the paths that can neither be committed nor be in the patch.
func (d *Delivery) unsavable() (paths []string) {
	if d.Changes == nil || d.Made.Hash != "" {
		return nil
	}
	for _, r := range d.Changes.Refused {
		if !slices.ContainsFunc(d.Changes.Changes, func(c state.Change) bool { return state.IsBelow(c.Path, r.Path) }) {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// lackedBefore returns the paths that an earlier process found to be missing from the patch, and that are
// not in the working tree: its saved states don't have them. A follow-up prompt can have removed them.
func (d *Delivery) lackedBefore() (paths []string) {
	if d.Site.Tree == nil {
		return nil
	}
	for _, p := range d.Job.History.Lacks() {
		if _, err := os.Lstat(filepath.Join(d.Site.Tree.Root(), filepath.FromSlash(p))); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, p)
		}
	}
	return paths
}

// Lost reports whether there are changes that are saved neither as a patch nor as a
// commit.
func (d *Delivery) Lost() bool {
	return len(d.unsavable()) > 0 || d.Patch == "" && d.Made.Hash == "" && (d.Changes == nil || len(d.Changes.Changes) > 0)
}

// incomplete returns the stop of a job of whose changes not all can be committed, or, if it makes only a
// patch, are in the patch.
func (d *Delivery) incomplete() *ending.Stop {
	if before := d.lackedBefore(); len(before) > 0 {
		return &ending.Stop{Code: event.CodeCommit, Detail: fmt.Sprintf("%s can't be committed, and the saved state that the job was resumed from does not have it; continue with another prompt: millhand session resume %s %s --prompt PROMPT", textcut.List(before), d.Options.RunID, d.Job.Spec.ID)}
	}
	if d.Job.Spec.Commit == nil || len(d.Changes.Refused) == 0 {
		return nil
	}
	if lacking := d.Lacking(); d.Job.Spec.Publish == tasks.PublishPatch {
		if len(lacking) == 0 {
			return nil
		}
		return &ending.Stop{Code: event.CodeCommit, Detail: "the patch lacks what can't be committed: " + textcut.List(lacking)}
	}
	var list []string
	code := event.CodeNested
	for _, r := range d.Changes.Refused {
		list = append(list, r.Reason+": "+r.Path)
		if r.Reason != state.NestedRepository {
			code = event.CodeCommit
		}
	}
	return &ending.Stop{Code: code, Detail: "can't commit: " + textcut.List(list)}
}

// Commit commits exactly the changes of the job.
func (d *Delivery) Commit(ctx context.Context) *ending.Stop {
	if end := d.incomplete(); end != nil {
		return end
	}
	if d.Job.Spec.Commit == nil || d.Job.Spec.Publish == tasks.PublishPatch || len(d.Changes.Changes)+len(d.Changes.Refused) == 0 {
		return nil // if all paths are refused, the commit returns the reason
	}
	if d.Patch == "" {
		ctx = context.WithoutCancel(ctx) // the changes are not saved elsewhere
	}
	if err := d.Record(ctx, d.message("")); err != nil {
		what := "commit"
		if d.Site.InPlace && errors.Is(err, gitdir.ErrConflict) {
			what = "commit in place (if the agent has committed by itself, its commits are on the branch)"
		}
		return ending.OfGit(ctx, what, err)
	}
	return nil
}

// CommitWIP commits the partial work of a job that was ended by a limit or a budget, if
// its task has commit.wip, so that a later run can continue. The commit is not pushed,
// and a failure is only a warning.
func (d *Delivery) CommitWIP(ctx context.Context, end *ending.Stop) {
	ended := end.Outcome() == event.Limit || end.Outcome() == event.Budget
	if d.Job.Spec.Commit == nil || !d.Job.Spec.Commit.WIP || !ended || !d.Site.Touched || d.Job.Spec.Publish == tasks.PublishPatch || pushesFromMirror(d.Job.Spec) ||
		d.Changes == nil || len(d.Changes.Changes) == 0 {
		return
	}
	if err := d.Record(ctx, d.message(end.Outcome())); err != nil {
		d.Job.Warn(fmt.Sprintf("commit work in progress: %v; it is saved as a patch", err))
	}
}

// Record commits the job's changes with a message.
func (d *Delivery) Record(ctx context.Context, message string) error {
	branch := d.Job.Spec.Commit.Branch
	if d.Site.InPlace || pushesFromMirror(d.Job.Spec) {
		branch = "" // the checked-out branch
	}
	author, committer := d.Job.Signatures()
	message = landing.Witnessed(message, d.Job.Spec.ID, d.Head)
	d.Job.Emit(event.Event{Type: event.CommitStarted, Commit: &event.Commit{Branch: d.Job.Spec.Commit.Branch, Message: message}})
	signature := ""
	var sign func(context.Context, []byte) (string, error)
	if d.Job.Spec.Commit.Signed() {
		sign = func(ctx context.Context, commit []byte) (_ string, err error) {
			signature, err = d.Options.Preflight.Signing.Sign(ctx, commit)
			return signature, err
		}
	}
	done, err := d.Site.Tree.Commit(ctx, d.Changes, gitops.CommitOptions{
		Sign: sign, Parent: d.Site.Base, Branch: branch, Message: message, Author: author, Committer: committer,
		Replaces: d.Job.Start.Tip, MustNotExist: branch != "" && d.Job.Start.Tip == "" && d.Job.Spec.Repo.Kind != tasks.RepoURL,
		Force:     branch != "" && d.Job.Spec.Repo.Kind == tasks.RepoURL, // branches in a mirror are leftovers of earlier runs
		Discarded: d.Site.Linked() && !d.Options.Keep && d.Site.Hooks == nil,
	})
	if err != nil {
		return err
	}
	if pushesFromMirror(d.Job.Spec) {
		done.Branch = d.Job.Spec.Commit.Branch
	}
	d.Made = done
	d.Job.Emit(event.Event{Type: event.Committed, Commit: &event.Commit{
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
func (d *Delivery) message(unfinished event.Outcome) string {
	final := ""
	if d.Result != nil && unfinished == "" {
		final = d.Result.Final
	}
	return d.Job.Message(d.Site.Base, final, unfinished)
}

// findLeaks returns the secrets in the text that the job's changes add. A secret that
// was in one of the changed files before is not a leak.
func (d *Delivery) findLeaks(ctx context.Context) ([]landing.Leak, error) {
	changes, err := d.committed(ctx)
	if err != nil {
		return nil, err
	}
	return landing.Leaks(ctx, d.Site.Tree, changes, d.Options.Redact)
}

// committed returns the job's changes as a commit would contain them: of files with
// uncommitted changes of the user, a commit includes these changes.
func (d *Delivery) committed(ctx context.Context) (*state.ChangeSet, error) {
	mixed := slices.ContainsFunc(d.Changes.Changes, func(c state.Change) bool { return slices.Contains(d.Site.Dirty, c.Path) })
	if d.Job.Spec.Commit == nil || !d.Site.InPlace || d.Site.Base != "" && !mixed {
		return d.Changes, nil
	}
	base, err := d.Site.Tree.SnapshotOf(d.Site.Base)
	if err != nil {
		return nil, err
	}
	all, err := d.Site.Tree.Changes(ctx, base.Below(d.Site.Below))
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range all.Changes {
		if !slices.ContainsFunc(d.Changes.Changes, func(own state.Change) bool { return own.Path == c.Path }) {
			others = append(others, c.Path)
		}
	}
	return all.Without(others), nil
}

// leaked returns the stop of a job whose changes must not be committed, or nil with a
// warning if the job makes only a patch.
func (d *Delivery) leaked(leaks []landing.Leak) *ending.Stop {
	if len(leaks) == 0 {
		return nil
	}
	var where []string
	for _, k := range leaks {
		where = append(where, k.String())
	}
	text := "the changes contain secrets that were not in the repository: " + textcut.List(slices.Compact(where))
	if d.Job.Spec.Commit == nil {
		d.Job.Warn(text + "; they are redacted in the patch")
		return nil
	}
	return &ending.Stop{
		Code:   event.CodeSecret,
		Detail: text + "; nothing was committed, and they are redacted in the patch",
	}
}
