package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/tasks"
)

// findChanges measures what the job changed and keeps it as a patch.
func (j *job) findChanges(ctx context.Context) *stop {
	var protect []string
	if j.Commit != nil {
		protect = j.Commit.Protect
	}
	cs, err := j.tree.Changes(ctx, j.before, protect)
	if err != nil {
		return gitFailed(ctx, "find the job's changes", err)
	}
	j.changes = cs
	changes := make([]event.Change, 0, len(cs.Changes))
	for _, c := range cs.Changes {
		changes = append(changes, event.Change{Path: c.Path, Kind: string(c.Kind), Added: c.Added, Removed: c.Removed})
	}
	j.emit(event.Event{Type: event.ChangesFound, Changes: changes})
	if len(cs.Protected) > 0 {
		j.warn(fmt.Sprintf("changes of protected paths are left out of the commit: %s", someOf(cs.Protected)))
	}
	for _, refused := range cs.Refused {
		j.warn(fmt.Sprintf("%s can't be committed: %s", refused.Path, refused.Reason))
	}
	j.warnOfMixed(cs)
	if len(changes) == 0 {
		switch {
		case j.RequireChanges && len(cs.Protected) > 0:
			return &stop{outcome: event.Failed, reason: "the task requires changes, and all that were made are of protected paths: " + someOf(cs.Protected), exit: event.ExitFailed}
		case j.RequireChanges:
			return &stop{outcome: event.Failed, reason: "the task requires changes and nothing was changed", exit: event.ExitFailed}
		}
		return nil
	}
	leaks, err := j.findLeaks(ctx)
	if err != nil {
		return gitFailed(ctx, "look for secrets in the job's changes", err)
	}
	if err := j.keepPatch(ctx, leaks); err != nil {
		if j.Commit == nil || j.Publish == tasks.PublishPatch || ctx.Err() != nil {
			return gitFailed(ctx, "keep the job's patch", err)
		}
		j.warn(fmt.Sprintf("keep the job's patch: %v; the work is committed without it", err))
	}
	return j.leaked(leaks)
}

// warnOfMixed tells which files hold changes of the user's beside the job's: a
// file is committed whole.
func (j *job) warnOfMixed(cs *gitops.ChangeSet) {
	if j.Commit == nil {
		return
	}
	var mixed []string
	for _, c := range cs.Changes {
		if slices.Contains(j.dirty, c.Path) {
			mixed = append(mixed, c.Path)
		}
	}
	if len(mixed) > 0 {
		j.warn(fmt.Sprintf("uncommitted changes that were there before are committed along with the job's in %s", someOf(mixed)))
	}
}

func (j *job) keepPatch(ctx context.Context, leaks []leak) error {
	patch, err := j.tree.Patch(ctx, j.changes.Without(opaque(leaks)))
	if err != nil {
		return err
	}
	patch = j.withoutLeaks(patch, leaks)
	name := filepath.Join("patches", j.ID+".patch")
	file := filepath.Join(j.Dir.Path(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", patch, 0o644); err != nil {
		os.Remove(file + ".part")
		return err
	}
	if err := os.Rename(file+".part", file); err != nil {
		return err
	}
	j.patch = filepath.ToSlash(name)
	return nil
}

// commit commits exactly what the job changed.
func (j *job) commit(ctx context.Context) *stop {
	if j.Commit == nil || j.Publish == tasks.PublishPatch || len(j.changes.Changes)+len(j.changes.Refused) == 0 {
		return nil // with nothing but refused paths, the commit says why it fails
	}
	if err := j.record(ctx, j.message("")); err != nil {
		what := "commit"
		if j.inPlace && errors.Is(err, gitdir.ErrConflict) {
			what = "commit in place (if the agent has committed by itself, its commits are on the branch)"
		}
		return gitFailed(ctx, what, err)
	}
	return nil
}

// commitWIP commits the work of a job that a limit or a budget has ended, if its
// task wants that: what a later run can begin from. It is not pushed, and a
// failure only leaves the patch.
func (j *job) commitWIP(ctx context.Context, end *stop) {
	ended := end.outcome == event.Limit || end.outcome == event.Budget
	if j.Commit == nil || !j.Commit.WIP || !ended || j.attempts == 0 || j.Publish == tasks.PublishPatch || j.straightOn() ||
		j.changes == nil || len(j.changes.Changes) == 0 {
		return
	}
	if err := j.record(ctx, j.message(end.outcome)); err != nil {
		j.warn(fmt.Sprintf("commit the work in progress: %v; it is kept as a patch", err))
	}
}

// record makes the commit of the job's changes, with the given message.
func (j *job) record(ctx context.Context, message string) error {
	branch := j.Commit.Branch
	if j.inPlace || j.straightOn() {
		branch = "" // whatever is checked out
	}
	now := j.Now()
	author := gitops.Signature{Name: "millhand", Email: "millhand@localhost", When: now}
	committer := author
	if a := j.Commit.Author; a != (tasks.Person{}) {
		author.Name, author.Email = a.Name, a.Email
	}
	done, err := j.tree.Commit(ctx, j.changes, gitops.CommitOptions{
		Parent: j.base, Branch: branch, Message: message, Author: author, Committer: committer,
		Replaces: j.start.tip, MustNotExist: branch != "" && j.start.tip == "" && j.Repo.Kind != tasks.RepoURL,
		Force: branch != "" && j.Repo.Kind == tasks.RepoURL, // branches in a mirror are leftovers of earlier runs
	})
	if err != nil {
		return err
	}
	if j.straightOn() {
		done.Branch = j.Commit.Branch
	}
	j.made = done
	j.emit(event.Event{Type: event.CommitMade, Commit: &event.Commit{Hash: done.Hash, Branch: done.Branch, Message: message}})
	return nil
}

// straightOn reports whether the commit is only made to be pushed from a mirror,
// whose own branches, leftovers of earlier runs, are in nobody's way then.
func (j *job) straightOn() bool {
	return j.Repo.Kind == tasks.RepoURL && j.Publish == tasks.PublishPush
}

// gitFailed is the stop of a job whose work is good but could not be recorded.
func gitFailed(ctx context.Context, what string, err error) *stop {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return &stop{outcome: event.Publish, reason: fmt.Sprintf("%s: %v", what, err), exit: event.ExitPublish, code: event.CodeCommit}
}

// wipTrailer says of a commit that its job did not come to its end, and why.
const wipTrailer = "Millhand-Outcome: "

// message is the commit's message with its trailers. A job that did not come to
// its end has an outcome.
func (j *job) message(unfinished event.Outcome) string {
	text := strings.TrimSpace(j.Commit.Message)
	if text == "" {
		text = j.Task + ": " + subject(j.Prompt)
	}
	text = j.Redact.Text(text)
	trailer := ""
	if unfinished != "" {
		text, trailer = "wip: "+text, wipTrailer+string(unfinished)+"\n"
	}
	return fmt.Sprintf("%s\n\nMillhand-Run: %s\nMillhand-Job: %s\n%s%s\n%s", text, j.RunID, j.ID, taskTrailer, j.taskHash(), trailer)
}

// maxSubject is how long the first line of a commit made from a prompt may be,
// in characters.
const maxSubject = 60

// subject is the first line of a prompt, shortened.
func subject(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > maxSubject {
		cut := string(r[:maxSubject])
		if at := strings.LastIndexByte(cut, ' '); at > maxSubject/2 {
			cut = cut[:at]
		}
		return cut + "..."
	}
	return strings.TrimSuffix(line, ".")
}

// taskHash identifies the work: the same task on the same commit of the same
// repository has the same hash in every run.
func (j *job) taskHash() string {
	h := sha256.New()
	for _, part := range []string{j.Repo.Name, j.base, j.Task, j.Prompt} {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
