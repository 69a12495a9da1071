package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// maxPeople bounds the lists of a pull request.
const maxPeople = 50

// publish is where a task's work goes beyond its patch.
type publish struct {
	form.Value // of the mode
	mode       PublishMode

	base        *form.Text
	title, body *template
	draft       bool
	labels      []string
	reviewers   []string
	assignees   []string
	ifExists    IfExists
	fork        string
	comment     *comment
}

func publishModes() []PublishMode {
	return []PublishMode{PublishNone, PublishPatch, PublishBranch, PublishPush, PublishPR}
}

// pullRequestOf returns the pull request of a job with the mode pr.
func pullRequestOf(p publish, b *builder, s scope) *PullRequest {
	s.results = true
	pr := &PullRequest{Draft: p.draft, Labels: p.labels, Reviewers: p.reviewers, Assignees: p.assignees, IfExists: p.ifExists, Fork: p.fork}
	if p.base != nil {
		pr.Base = p.base.S
	}
	if p.title != nil {
		pr.Title = b.render(*p.title, s)
	}
	if p.body != nil {
		pr.Body = b.render(*p.body, s)
	}
	return pr
}

var publishForm = form.Short(form.Of[publish]{Type: form.TypeOf((*publish).keys), Read: readPublish}, form.OneOf(publishModes()).Type, form.IfString("mode"))

// accountForm is the form of an account of a forge: a user, an organization or a group.
var accountForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) {
	name, ok := v.Str()
	if !ok {
		return "", false
	}
	if !accountName().MatchString(name) || strings.Contains(name, "..") {
		v.Problem("invalid account "+problem.Quote(name), "write auto, or the name of a user, an organization or a group")
		return "", false
	}
	return name, true
}}

var accountName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.-]*(/[\pL\pN_][\pL\pN_.-]*)*$`)
})

// readPublish reads how a task's work is published.
func readPublish(v form.Value) (publish, bool) {
	p := form.WithDefaults((*publish).keys)
	if _, ok := p.keys().Read(v)["mode"]; ok {
		p.Refused(policy.Publish, "publish: "+string(p.mode), string(p.mode))
	}
	return p, true
}

// checkPublishing records jobs whose work cannot go where it is to go. What
// the command line asks for is asked of the selected jobs alone.
func (b *builder) checkPublishing(drafts, selected []*draft) {
	byFlag := b.options.Overrides.Publish != ""
	for _, d := range drafts {
		d.checkTree()
		if d.job.Comment != nil && d.job.Repo.Kind == RepoCopy {
			d.task.publish.comment.Problem("publish.comment is not supported for copy repositories", "remove it, or use path or url")
		}
		if what, fix := d.unpublishable(); what != "" && !byFlag {
			d.task.publish.Problem(what, fix)
		}
	}
	for _, d := range selected {
		if what, fix := d.unpublishable(); what != "" && byFlag {
			b.flagProblem("--publish", fmt.Sprintf("task %s: %s", d.task.id.S, what), fix)
		}
	}
}

// checkMode checks the mode that the command line names.
func (b *builder) checkMode() {
	mode := b.options.Overrides.Publish
	const fix = "write none, patch, branch, push or pr"
	switch {
	case mode == "":
	case slices.Contains(publishModes(), mode):
		if by, refused := b.options.Policies.Own().Refuses(policy.Publish, string(mode)); refused {
			what, fix := form.Refusal(string(mode), by)
			b.flagProblem("--publish", what, fix)
		}
	default:
		b.flagProblem("--publish", "unknown mode "+problem.Quote(string(mode)), fix)
	}
}

// unpublishable returns why a job's work cannot be published by its mode, or "".
func (d *draft) unpublishable() (what, fix string) {
	mode := d.job.Publish
	switch {
	case d.job.Commit.ByForge() && !mode.Pushes() && mode != PublishPatch:
		return "sign: api requires publish: push or pr, because GitHub makes the commit", "write mode: push or pr, or sign: none"
	case d.job.Commit.ByForge() && d.job.Commit.Author != (Person{}):
		return "sign: api does not support commit.author: the author is the user of the token", "remove author, or write sign: none"
	case mode != PublishBranch && !mode.Pushes():
	case d.job.Commit == nil:
		return fmt.Sprintf("publish: %s requires a commit, but the task has commit: false", mode), "remove commit: false, or write mode: none"
	case mode == PublishPR && d.job.Commit.Branch == CurrentBranch:
		return "publish: pr requires a branch of its own, not " + CurrentBranch, "name a branch, or write mode: push"
	case d.job.Commit.ByForge() && d.job.Commit.Branch == CurrentBranch:
		return "sign: api is not supported with branch " + CurrentBranch, "name a branch, or write sign: none"
	case mode.Pushes() && d.job.Repo.Kind == RepoCopy:
		return fmt.Sprintf("publish: %s is not supported for copy repositories", mode), "write mode: none, patch or branch, or use path or url"
	}
	return "", ""
}

// checkTree records jobs that are to change a remote repository in place, or that
// have if_exists for a branch that always exists.
func (d *draft) checkTree() {
	c := d.task.commit
	current := d.job.Commit != nil && d.job.Commit.Branch == CurrentBranch
	if current && c.ifExists != FailIfExists {
		c.exists.Problem(fmt.Sprintf("if_exists: %s is not supported with branch %s", c.ifExists, CurrentBranch), "remove it, or name a branch")
	}
	switch {
	case d.job.Repo.Kind != RepoURL:
	case d.job.Commit == nil:
		c.Problem("commit: false is not supported for url repositories", "remove it; publish: {mode: patch} keeps the patch alone")
	case current:
		c.branch.Problem(fmt.Sprintf("branch %s is not supported for url repositories", CurrentBranch), "name a branch")
	}
}

func (p *publish) keys() form.Table {
	return form.Table{
		{Name: "mode", Field: form.Noting(&p.Value, form.Into(&p.mode, form.OneOf(publishModes()))), Def: "none", Doc: "none: only commit; patch: only the patch; branch: the branch in the repository; push: pushed to the remote; pr: also a pull request"},
		{Name: "base", Field: form.Into(&p.base, form.Optional(form.Filled)), Doc: "Base branch of the pull request (the branch that the job started from, or the default branch, if absent)"},
		{Name: "title", Field: form.Into(&p.title, form.Optional(templateForm)), Doc: "Title of the pull request (the commit's subject if absent); may contain ${{ VARIABLE }}, also summary, verify, cost and report"},
		{Name: "body", Field: form.Into(&p.body, form.Optional(templateForm)), Doc: "Description of the pull request (made from the result if absent); variables as in title, and patterns"},
		{Name: "draft", Field: form.Into(&p.draft, form.Bool), Def: "false", Doc: "Whether a new pull request is a draft"},
		{Name: "labels", Field: form.Into(&p.labels, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Labels that the pull request gets"},
		{Name: "reviewers", Field: form.Into(&p.reviewers, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Users, or teams as ORG/TEAM, that are asked for a review"},
		{Name: "assignees", Field: form.Into(&p.assignees, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Users that the pull request is assigned to"},
		{Name: "if_exists", Field: form.Into(&p.ifExists, form.OneOf([]IfExists{ReplaceIfExists, AppendIfExists, SkipIfExists, FailIfExists})), Def: "replace", Doc: "What to do about an open pull request of the branch: replace its texts, append to its description, skip the job, or fail"},
		{Name: "fork", Field: form.Into(&p.fork, accountForm), Doc: "Account with the fork that the branch is pushed to, created if it is missing; auto: that of the token's user, if the token can't push to the repository"},
		{Name: "comment", Field: form.Into(&p.comment, form.Optional(commentForm)), Doc: "Post the final message of a job that passed on an issue or a pull request, with any mode"},
	}
}
