package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks/form"
)

// expand makes a draft for each task, repository and combination.
func (b *builder) expand() []*draft {
	var drafts []*draft
	total := 0
	for _, t := range b.all() {
		repos, known := b.reposOf(t)
		if total += max(1, t.matrix.size()+len(t.matrix.include)) * len(repos); total > maxJobs {
			mentionOf(t).Problem(fmt.Sprintf("the plan has more than %d jobs", maxJobs), "split it")
			return nil
		}
		cells := t.matrix.combinations()
		if len(cells) == 0 {
			mentionOf(t).Problem("exclude removes every combination of the matrix", "keep one, or remove the task")
		}
		for i := range repos {
			for _, c := range cells {
				drafts = append(drafts, &draft{task: t, repo: &repos[i], unsure: !known, job: Job{Task: t.id.S, Repo: repos[i].Repo, Matrix: c}})
			}
		}
	}
	return drafts
}

// mentionOf is where to speak of the number of a task's jobs.
func mentionOf(t *task) form.Value {
	switch {
	case t.matrix.Src != nil:
		return t.matrix.Value
	case t.id.Src != nil:
		return t.id.Value
	}
	return t.Value
}

// reposOf returns where a task works: its repos, or those of its manifest, or else
// the repository that the current directory is in. That one also replaces those that
// are not known after a problem.
func (b *builder) reposOf(t *task) (repos []repo, known bool) {
	list := t.repos
	if len(list.repos) == 0 && !list.incorrect {
		list = t.manifest.repos
	}
	if len(list.repos) > 0 && !list.incorrect {
		return list.repos, !slices.ContainsFunc(list.repos, func(r repo) bool { return r.Unlisted })
	}
	dir := b.options.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = cmp.Or(topOf(real), dir)
	}
	current := newRepo(RepoPath, ".", dir)
	if by, what := current.refused(b.options.Policies.Own()); what != "" && !list.incorrect {
		what, fix := form.Refusal(what, by)
		b.flagProblem("current directory", what, fix)
	}
	return []repo{current}, !list.incorrect
}

// name gives the drafts' repositories their names, and the drafts their ids
// and default branches: none depends on the machine, the run or what was
// selected.
func (b *builder) name(drafts []*draft) {
	var repos []repo
	seen := map[string]bool{}
	reposOf := map[*task]map[string]bool{}
	for _, d := range drafts {
		id := d.repo.id
		if !seen[id] {
			seen[id] = true
			repos = append(repos, *d.repo)
		}
		if reposOf[d.task] == nil {
			reposOf[d.task] = map[string]bool{}
		}
		reposOf[d.task][id] = true
	}
	names := nameRepos(repos)
	ids, branches := make([]slug, len(drafts)), make([]slug, len(drafts))
	for i, d := range drafts {
		d.job.Repo.Name = names[d.repo.id]
		ids[i], branches[i] = d.slug(""), d.slug("")
		if d.repo.top != d.repo.id { // other directories of the repository share its branches
			branches[i] = d.slug(d.job.Repo.Name)
		}
		if len(reposOf[d.task]) > 1 {
			ids[i] = d.slug(d.job.Repo.Name)
		}
	}
	idNames, branchNames := spell(ids), spell(branches)
	taken := map[string]*draft{}
	for i, d := range drafts {
		d.job.ID, d.branch = idNames[i], BranchPrefix+branchNames[i]
		if !d.task.named {
			continue
		}
		key := strings.ToLower(d.job.ID)
		if other := taken[key]; other != nil {
			mentionOf(d.task).Problem(fmt.Sprintf("two jobs have the id %s, of tasks %s and %s", d.job.ID, other.task.id.S, d.task.id.S), "rename one of the tasks, or change the matrix")
		}
		taken[key] = cmp.Or(taken[key], d)
	}
}

// slug is what names a draft: its task, the repository if that is needed, and
// the values of its matrix in the order of their keys.
func (d *draft) slug(repo string) slug {
	s := slug{task: d.job.Task}
	full := []string{d.job.Task, repo}
	if repo != "" {
		s.parts = append(s.parts, repo)
	}
	for _, key := range slices.Sorted(maps.Keys(d.job.Matrix)) {
		s.parts = append(s.parts, d.job.Matrix[key])
		full = append(full, key, d.job.Matrix[key])
	}
	s.full = strings.Join(full, "\x00")
	return s
}
