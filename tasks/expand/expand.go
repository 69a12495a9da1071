package expand

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

// expandTasks makes a draft for each task, repository and combination.
func expandTasks(l *loaded) []*draft {
	var drafts []*draft
	total := 0
	for _, t := range l.all() {
		repos, known := reposOf(l, t)
		if total += max(1, t.Matrix.Size()+len(t.Matrix.Include)) * len(repos); total > tasks.MaxJobs {
			mentionOf(t).Problem(fmt.Sprintf("the plan has more than %d jobs", tasks.MaxJobs), "split it")
			return nil
		}
		cells := t.Matrix.Combinations()
		if len(cells) == 0 {
			mentionOf(t).Problem("exclude removes every combination of the matrix", "keep one, or remove the task")
		}
		for i := range repos {
			for _, c := range cells {
				drafts = append(drafts, &draft{task: t, repo: &repos[i], unsure: !known, job: tasks.Job{Task: t.ID.S, Repo: repos[i].Repo, Matrix: c}})
			}
		}
	}
	return drafts
}

// mentionOf is where to speak of the number of a task's jobs.
func mentionOf(t *manifest.Task) form.Value {
	switch {
	case t.Matrix.Value.Src != nil:
		return t.Matrix.Value
	case t.ID.Src != nil:
		return t.ID.Value
	}
	return t.Value
}

// reposOf returns where a task works: its repos, or those of its manifest, or else
// the repository that the current directory is in. That one also replaces those that
// are not known after a problem.
func reposOf(l *loaded, t *manifest.Task) (repos []repolist.Repo, known bool) {
	list := t.Repos
	if len(list.Repos) == 0 && !list.Incorrect {
		list = t.Manifest.Repos
	}
	if len(list.Repos) > 0 && !list.Incorrect {
		return list.Repos, !slices.ContainsFunc(list.Repos, func(r repolist.Repo) bool { return r.Unlisted })
	}
	dir := l.Options.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = cmp.Or(tasks.TopOf(real), dir)
	}
	current := repolist.NewRepo(tasks.RepoPath, ".", dir)
	if by, what := current.Refused(l.Options.Policies.Own()); what != "" && !list.Incorrect {
		what, fix := form.Refusal(what, by)
		l.flagProblem("current directory", what, fix)
	}
	return []repolist.Repo{current}, !list.Incorrect
}

// nameDrafts gives the drafts' repositories their names, and the drafts their ids
// and default branches: none depends on the machine, the run or what was
// selected.
func nameDrafts(drafts []*draft) {
	var repos []repolist.Repo
	seen := map[string]bool{}
	reposOf := map[*manifest.Task]map[string]bool{}
	for _, d := range drafts {
		id := d.repo.ID
		if !seen[id] {
			seen[id] = true
			repos = append(repos, *d.repo)
		}
		if reposOf[d.task] == nil {
			reposOf[d.task] = map[string]bool{}
		}
		reposOf[d.task][id] = true
	}
	names := repolist.NameRepos(repos)
	ids, branches := make([]slug, len(drafts)), make([]slug, len(drafts))
	for i, d := range drafts {
		d.job.Repo.Name = names[d.repo.ID]
		ids[i], branches[i] = d.slug(""), d.slug("")
		if d.repo.Top != d.repo.ID { // other directories of the repository share its branches
			branches[i] = d.slug(d.job.Repo.Name)
		}
		if len(reposOf[d.task]) > 1 {
			ids[i] = d.slug(d.job.Repo.Name)
		}
	}
	idNames, branchNames := spell(ids), spell(branches)
	taken := map[string]*draft{}
	for i, d := range drafts {
		d.job.ID, d.branch = idNames[i], tasks.BranchPrefix+branchNames[i]
		if !d.task.Unique {
			continue
		}
		key := strings.ToLower(d.job.ID)
		if other := taken[key]; other != nil {
			mentionOf(d.task).Problem(fmt.Sprintf("two jobs have the id %s, of tasks %s and %s", d.job.ID, other.task.ID.S, d.task.ID.S), "rename one of the tasks, or change the matrix")
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
