package site

import (
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/untrusted"
)

// addMarked adds the files that marked jobs have written in earlier processes.
func addMarked(to *untrusted.Files, plan *tasks.Plan, past *history.Past) {
	for _, id := range past.Marked() {
		if start := past.Job(id).Start; start != nil && start.Tree != "" { // without a worktree
			to.Add(id, start.Workspace)
		}
		if i := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == id }); i >= 0 {
			to.Add(id, outputOf(&plan.Jobs[i]))
		}
	}
}

// outputOf returns the file that the final message of a job is written to; "" for none.
func outputOf(j *tasks.Job) string {
	if j.Output.Path == "" || j.Output.Own != "" {
		return j.Output.Own
	}
	return filepath.Join(confinement.RealPath(j.Output.Dir), filepath.FromSlash(j.Output.Path))
}

// startsOn marks the job if the files that it starts on, which its setup commands run, are untrusted: those of a pull request, and those that
// a marked job can have written. They are in a tree of the user or, if that is "", of its base.
func (j *Job) startsOn(base, tree string) {
	if j.tree = tree; j.Untrusted == nil {
		return
	}
	by := j.run.marked.Of(tree)
	if by == "" && j.Spec.Repo.Kind == tasks.RepoCopy {
		by = j.run.marked.Of(j.Spec.Repo.Dir)
	}
	if by == "" {
		by = j.opts.History.Past.MadeMarked(base)
	}
	switch past := j.History.Facts; {
	case j.Untrusted.Is():
		j.noteFiles()
	case j.Spec.Commit.OnPull():
		j.inherit(untrusted.Mark{Why: "files of the pull request"})
	case j.opts.ForeignFiles != "" && j.Spec.Repo.Kind == tasks.RepoPath:
		j.inherit(untrusted.Mark{Why: j.opts.ForeignFiles})
	case by != "":
		j.inherit(untrusted.Mark{Why: "files of job " + by + ", which has read untrusted content"})
	case tree != "" && past != nil && past.Unwatched(j.Spec.Untrusted):
		j.inherit(untrusted.Mark{Why: "files of an earlier conversation, of which nothing is known"})
	}
}

// inherit marks the job because of what it starts on, which its first session reports.
func (j *Job) inherit(m untrusted.Mark) {
	m.Session = j.SessionID(j.Spec.ID)
	j.before = &m
	j.Untrusted.Restore(m)
	j.closeNetwork(m)
	j.LimitPublishing()
	j.noteFiles()
}

// noteFiles records what the job can write from now on, because it is marked.
func (j *Job) noteFiles() { j.run.marked.Add(j.Spec.ID, j.tree, outputOf(&j.Spec)) }
