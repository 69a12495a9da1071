package expand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// expand makes a draft for each task, repository and combination.
func (b *builder) expand() []*draft {
	var drafts []*draft
	total := 0
	for _, t := range b.all() {
		repos, known := b.reposOf(t)
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
	case t.Matrix.Src != nil:
		return t.Matrix.Value
	case t.ID.Src != nil:
		return t.ID.Value
	}
	return t.Value
}

// reposOf returns where a task works: its repos, or those of its manifest, or else
// the repository that the current directory is in. That one also replaces those that
// are not known after a problem.
func (b *builder) reposOf(t *manifest.Task) (repos []repolist.Repo, known bool) {
	list := t.Repos
	if len(list.Repos) == 0 && !list.Incorrect {
		list = t.Manifest.Repos
	}
	if len(list.Repos) > 0 && !list.Incorrect {
		return list.Repos, !slices.ContainsFunc(list.Repos, func(r repolist.Repo) bool { return r.Unlisted })
	}
	dir := b.Options.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = cmp.Or(tasks.TopOf(real), dir)
	}
	current := repolist.NewRepo(tasks.RepoPath, ".", dir)
	if by, what := current.Refused(b.Options.Policies.Own()); what != "" && !list.Incorrect {
		what, fix := form.Refusal(what, by)
		b.flagProblem("current directory", what, fix)
	}
	return []repolist.Repo{current}, !list.Incorrect
}

// name gives the drafts' repositories their names, and the drafts their ids
// and default branches: none depends on the machine, the run or what was
// selected.
func (b *builder) name(drafts []*draft) {
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

// Load reads manifests and returns the plan that they and the command line
// make together. Its error is a [problem.List] with every mistake in all of the
// files, or else that of reading standard input or of ctx.
// What it returns beside an error is nil.
//
// With several manifests the strictest wins: the smallest number of concurrent
// jobs and the smallest budget that any of them states, and allow_dirty and
// allow_unknown_price only if all of them do. Of clones the largest number holds.
func Load(ctx context.Context, paths []string, o tasks.Options) (*tasks.Plan, error) {
	return manifest.Under(ctx, strings.Join(paths, ", "), func() (*tasks.Plan, error) { return load(ctx, paths, o) })
}

func load(ctx context.Context, paths []string, o tasks.Options) (*tasks.Plan, error) {
	l := manifest.NewLoader(ctx, o)
	if slices.Contains(paths, "-") {
		l.Inputs.Taken = "a manifest"
	}
	var manifests []*manifest.Manifest
	for _, path := range paths {
		m, err := l.Manifest(ctx, path)
		if err != nil {
			return nil, err
		}
		if m != nil {
			manifests = append(manifests, m)
		}
	}
	if len(paths) == 0 {
		l.Found.Add(problem.Problem{File: "millhand", What: "no manifest is named", Fix: "name at least one file"})
	}
	b := &builder{defaults: form.WithDefaults((*manifest.Manifest).Keys), Loader: l, manifests: manifests, complete: len(manifests) == len(paths)}
	plan, err := b.plan(ctx, paths)
	if err != nil {
		return nil, err
	}
	if err := l.Found.Err(); err != nil {
		return nil, err
	}
	if run := l.Run; run.Used && run.ID != template.AnyRun {
		err = hashForAnyRun(plan, ctx, paths, o)
	}
	return plan, err
}
