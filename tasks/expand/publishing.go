package expand

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// changeOf returns what a job may change.
func changeOf(c manifest.Change, x *planTexts, s template.Scope) tasks.Change {
	limits := c.Change
	for _, p := range c.Globs {
		glob := x.render(p, s)
		if glob != "" { // else there is a problem
			glob, _ = manifest.ChangeGlob(p.Value, glob)
		}
		limits.Paths = append(limits.Paths, glob)
	}
	return limits
}

// commentOf returns the comment of a job; nil without one, and if the mode of the command line,
// "" for none, publishes only on this machine.
func commentOf(c *manifest.Comment, s template.Scope, mode tasks.PublishMode) *tasks.Comment {
	if c == nil || mode != "" && !mode.Pushes() {
		return nil
	}
	from := c.Issue
	if from == nil {
		from = c.Pull
	}
	if from == nil {
		return nil // reported
	}
	text, ok := from.Render(s)
	n := manifest.ThreadNumber(text)
	if ok && n == 0 {
		from.Problem("invalid number "+problem.Quote(text)+" of an issue or pull request", "write for example 12, or a variable with such a value")
	}
	return &tasks.Comment{Number: n, Issue: c.Issue != nil, Sticky: c.Sticky, Inline: c.Inline}
}

// laterOf returns what is published of a job by another command, because the mode of the command line, "" for none, publishes only on
// this machine. What the manifest can't state here, for lack of an event for example, is left out, and no problem.
func laterOf(p manifest.Publish, x *planTexts, s template.Scope, mode tasks.PublishMode) *tasks.Later {
	if mode == "" || mode.Pushes() {
		return nil
	}
	unheard := problem.NewCollector()
	quiet := func(t *template.Template) *template.Template {
		if t == nil || t.Src == nil {
			return t
		}
		src, other := *t.Src, *t
		src.Found, other.Src = unheard, &src
		return &other
	}
	p.Title, p.Body = quiet(p.Title), quiet(p.Body)
	l := &tasks.Later{Publish: p.Mode}
	if p.Mode == tasks.PublishPR {
		l.Pull = pullRequestOf(p, x, s)
	}
	if c := p.Comment; c != nil {
		numbered := *c
		numbered.Issue, numbered.Pull = quiet(c.Issue), quiet(c.Pull)
		if l.Comment = commentOf(&numbered, s, ""); l.Comment != nil && l.Comment.Number == 0 {
			l.Comment = nil
		}
	}
	return l
}

// requestsOf returns the requests that a job allows; nil without any. The mode of the command line can publish only on this
// machine: then none is made, and they are reported.
func requestsOf(r *manifest.Requests, e *template.Event, o tasks.Options) *tasks.Requests {
	if r == nil {
		return nil
	}
	all := &tasks.Requests{}
	if r.Labels != nil {
		all.MaxLabels, all.Labels = r.Labels.Max, r.Labels.Allow
	}
	if r.Issue != nil {
		all.MaxIssues, all.TitlePrefix = r.Issue.Max, r.Issue.TitlePrefix
	}
	if r.Comment != nil {
		all.MaxComments = r.Comment.Max
	}
	if mode := o.Overrides.Publish; mode != "" && !mode.Pushes() {
		all.Skip = "not made with --publish " + string(mode)
	}
	if all.NeedThread() {
		thread, err := e.Thread(o.Getenv)
		if err != nil && all.Made() {
			r.KeyProblem("publish.requests: "+err.Error(), "correct GITHUB_EVENT_PATH, or unset it")
		}
		all.Thread = thread
	}
	return all
}

// outputOf returns the file for a job's final message. Nothing but a plain file below the
// manifest's directory is accepted, as a model writes what is in it.
func outputOf(t *manifest.Task, s template.Scope) tasks.OutputFile {
	from := t.Output.File
	if from == nil || from.Refused(policy.OutputFile, "output.file", "") {
		return tasks.OutputFile{}
	}
	name, ok := from.Render(s)
	if !ok || from.Outside(userfile.Resolve(from.Src.Dir, name), name) {
		return tasks.OutputFile{}
	}
	if fault := tasks.OutputFault(from.Src.Dir, name); fault != "" {
		from.Problem("invalid output file "+problem.Quote(name), fault)
		return tasks.OutputFile{}
	}
	return tasks.OutputFile{Dir: from.Src.Dir, Path: path.Clean(name)}
}

// checkOutputs records jobs that would write the same file.
func checkOutputs(drafts []*draft) {
	first := map[string]*draft{}
	for _, d := range drafts {
		out := d.job.Output
		if out.Path == "" || d.job.Skip != "" || !d.task.Unique || d.unsure {
			continue
		}
		key := strings.ToLower(filepath.Join(out.Dir, out.Path))
		if other := first[key]; other != nil {
			d.task.Output.File.Problem(fmt.Sprintf("the jobs %s and %s would both write %s", other.job.ID, d.job.ID, problem.Quote(out.Path)),
				"write ${{ matrix.KEY }}, ${{ repo.name }} or ${{ task.id }} into the path")
			continue
		}
		first[key] = d
	}
}

// pullRequestOf returns the pull request of a job with the mode pr.
func pullRequestOf(p manifest.Publish, x *planTexts, s template.Scope) *tasks.PullRequest {
	s.Results = true
	pr := &tasks.PullRequest{Draft: p.Draft, Labels: p.Labels, Reviewers: p.Reviewers, Assignees: p.Assignees, IfExists: p.IfExists, Fork: p.Fork}
	if p.Base != nil {
		pr.Base = p.Base.S
	}
	if p.Title != nil {
		pr.Title = x.render(*p.Title, s)
	}
	if p.Body != nil {
		pr.Body = x.render(*p.Body, s)
	}
	return pr
}

// checkPublishing records jobs whose work cannot go where it is to go. What
// the command line asks for is asked of the selected jobs alone.
func checkPublishing(l *loaded, drafts, selected []*draft) {
	byFlag := l.Options.Overrides.Publish != ""
	for _, d := range drafts {
		d.checkTree()
		if d.job.Comment != nil && d.job.Repo.Kind == tasks.RepoCopy {
			d.task.Publish.Comment.Problem("publish.comment is not supported for copy repositories", "remove it, or use path or url")
		}
		if d.job.Context != nil && d.job.Repo.Kind == tasks.RepoCopy {
			d.task.ContextAt.Problem("context is not supported for copy repositories", "remove it, or use path or url")
		}
		if d.job.Comment != nil && d.job.Comment.Inline && !d.job.Findings {
			d.task.Publish.Comment.Problem("publish.comment.inline requires findings", "write output: {schema: findings}, or remove inline")
		}
		if d.job.Requests != nil && d.job.Repo.Kind == tasks.RepoCopy {
			d.task.Publish.Requests.Problem("publish.requests is not supported for copy repositories", "remove it, or use path or url")
		}
		if what, fix := d.unpublishable(); what != "" && !byFlag {
			d.task.Publish.Problem(what, fix)
		}
	}
	for _, d := range selected {
		if what, fix := d.unpublishable(); what != "" && byFlag {
			l.flagProblem("--publish", fmt.Sprintf("task %s: %s", d.task.ID.S, what), fix)
		}
	}
}

// unpublishable returns why a job's work cannot be published by its mode, or "".
func (d *draft) unpublishable() (what, fix string) {
	mode := d.job.Publish
	switch {
	case d.job.Commit.ByForge() && !mode.Pushes() && mode != tasks.PublishPatch:
		return "sign: api requires publish: push or pr, because GitHub makes the commit", "write mode: push or pr, or sign: none"
	case d.job.Commit.ByForge() && d.job.Commit.Author != (tasks.Person{}):
		return "sign: api does not support commit.author: the author is the user of the token", "remove author, or write sign: none"
	case mode != tasks.PublishBranch && !mode.Pushes():
	case d.job.Commit == nil:
		return fmt.Sprintf("publish: %s requires a commit, but the task has commit: false", mode), "remove commit: false, or write mode: none"
	case mode == tasks.PublishPR && d.job.Commit.Branch == tasks.CurrentBranch:
		return "publish: pr requires a branch of its own, not " + tasks.CurrentBranch, "name a branch, or write mode: push"
	case mode == tasks.PublishPR && d.job.Commit.OnPull():
		return "publish: pr requires a branch of its own, not " + tasks.PullRequestBranch + ", which has a pull request", "write mode: push"
	case d.job.Commit.ByForge() && d.job.Commit.OnPull():
		return "sign: api is not supported with branch " + tasks.PullRequestBranch, "write sign: none, ssh or openpgp"
	case d.job.Commit.ByForge() && d.job.Commit.Branch == tasks.CurrentBranch:
		return "sign: api is not supported with branch " + tasks.CurrentBranch, "name a branch, or write sign: none"
	case mode.Pushes() && d.job.Repo.Kind == tasks.RepoCopy:
		return fmt.Sprintf("publish: %s is not supported for copy repositories", mode), "write mode: none, patch or branch, or use path or url"
	}
	return "", ""
}

// checkTree records jobs that are to change a remote repository in place, or that
// have if_exists for a branch that always exists.
func (d *draft) checkTree() {
	c := d.task.Commit
	current := d.job.Commit != nil && d.job.Commit.Branch == tasks.CurrentBranch
	if d.job.Commit.OnPull() && c.IfExists != tasks.FailIfExists {
		c.Exists.Problem(fmt.Sprintf("if_exists: %s is not supported with branch %s", c.IfExists, tasks.PullRequestBranch), "remove it")
	}
	if current && c.IfExists != tasks.FailIfExists {
		c.Exists.Problem(fmt.Sprintf("if_exists: %s is not supported with branch %s", c.IfExists, tasks.CurrentBranch), "remove it, or name a branch")
	}
	if d.job.Commit.OnPull() && d.job.Repo.Kind == tasks.RepoCopy {
		c.Branch.Problem(fmt.Sprintf("branch %s is not supported for copy repositories", tasks.PullRequestBranch), "use path or url")
	}
	switch {
	case d.job.Repo.Kind != tasks.RepoURL:
	case d.job.Commit == nil:
		c.Problem("commit: false is not supported for url repositories", "remove it; publish: {mode: patch} keeps the patch alone")
	case current:
		c.Branch.Problem(fmt.Sprintf("branch %s is not supported for url repositories", tasks.CurrentBranch), "name a branch")
	}
}
