package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// maxPeople bounds the lists of a pull request.
const maxPeople = 50

// publish is where a task's work goes beyond its patch.
type publish struct {
	value // of the mode
	mode  PublishMode

	base        *text
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

// pullRequest returns the pull request of a job with the mode pr.
func (p publish) pullRequest(b *builder, s scope) *PullRequest {
	s.results = true
	pr := &PullRequest{Draft: p.draft, Labels: p.labels, Reviewers: p.reviewers, Assignees: p.assignees, IfExists: p.ifExists, Fork: p.fork}
	if p.base != nil {
		pr.Base = p.base.s
	}
	if p.title != nil {
		pr.Title = b.render(*p.title, s)
	}
	if p.body != nil {
		pr.Body = b.render(*p.body, s)
	}
	return pr
}

var publishForm = short(form[publish]{typeOf((*publish).keys), readPublish}, oneOf(publishModes()).Type, ifString("mode"))

// accountForm is the form of an account of a forge: a user, an organization or a group.
var accountForm = form[string]{Type{Name: "string"}, func(v value) (string, bool) {
	name, ok := v.str()
	if !ok {
		return "", false
	}
	if !accountName().MatchString(name) || strings.Contains(name, "..") {
		v.problem("invalid account "+problem.Quote(name), "write auto, or the name of a user, an organization or a group")
		return "", false
	}
	return name, true
}}

var accountName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.-]*(/[\pL\pN_][\pL\pN_.-]*)*$`)
})

// readPublish reads how a task's work is published.
func readPublish(v value) (publish, bool) {
	p := withDefaults((*publish).keys)
	if _, ok := p.keys().read(v)["mode"]; ok {
		p.refused(policy.Publish, "publish: "+string(p.mode), string(p.mode))
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
			d.task.publish.comment.problem("publish.comment is not supported for copy repositories", "remove it, or use path or url")
		}
		if what, fix := d.unpublishable(); what != "" && !byFlag {
			d.task.publish.problem(what, fix)
		}
	}
	for _, d := range selected {
		if what, fix := d.unpublishable(); what != "" && byFlag {
			b.flagProblem("--publish", fmt.Sprintf("task %s: %s", d.task.id.s, what), fix)
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
			what, fix := refusal(string(mode), by)
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
		c.exists.problem(fmt.Sprintf("if_exists: %s is not supported with branch %s", c.ifExists, CurrentBranch), "remove it, or name a branch")
	}
	switch {
	case d.job.Repo.Kind != RepoURL:
	case d.job.Commit == nil:
		c.problem("commit: false is not supported for url repositories", "remove it; publish: {mode: patch} keeps the patch alone")
	case current:
		c.branch.problem(fmt.Sprintf("branch %s is not supported for url repositories", CurrentBranch), "name a branch")
	}
}

func (p *publish) keys() keys {
	return keys{
		{"mode", noting(&p.value, into(&p.mode, oneOf(publishModes()))), "none", "none: only commit; patch: only the patch; branch: the branch in the repository; push: pushed to the remote; pr: also a pull request"},
		{"base", into(&p.base, optional(textForm)), "", "Base branch of the pull request (the branch that the job started from, or the default branch, if absent)"},
		{"title", into(&p.title, optional(templateForm)), "", "Title of the pull request (the commit's subject if absent); may contain ${{ VARIABLE }}, also summary, verify, cost and report"},
		{"body", into(&p.body, optional(templateForm)), "", "Description of the pull request (made from the result if absent); variables as in title, and patterns"},
		{"draft", into(&p.draft, boolForm), "false", "Whether a new pull request is a draft"},
		{"labels", into(&p.labels, upTo(maxPeople, listOf(stringForm))), "", "Labels that the pull request gets"},
		{"reviewers", into(&p.reviewers, upTo(maxPeople, listOf(stringForm))), "", "Users, or teams as ORG/TEAM, that are asked for a review"},
		{"assignees", into(&p.assignees, upTo(maxPeople, listOf(stringForm))), "", "Users that the pull request is assigned to"},
		{"if_exists", into(&p.ifExists, oneOf([]IfExists{ReplaceIfExists, AppendIfExists, SkipIfExists, FailIfExists})), "replace", "What to do about an open pull request of the branch: replace its texts, append to its description, skip the job, or fail"},
		{"fork", into(&p.fork, accountForm), "", "Account with the fork that the branch is pushed to, created if it is missing; auto: that of the token's user, if the token can't push to the repository"},
		{"comment", into(&p.comment, optional(commentForm)), "", "Post the final message of a job that passed on an issue or a pull request, with any mode"},
	}
}
