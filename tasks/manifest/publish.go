package manifest

import (
	"regexp"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// maxPeople bounds the lists of a pull request.
const maxPeople = 50

// Publish is where a task's work goes beyond its patch.
type Publish struct {
	form.Value // of the mode
	Mode       tasks.PublishMode

	Base        *form.Text
	Title, Body *template.Template
	Draft       bool
	Labels      []string
	Reviewers   []string
	Assignees   []string
	IfExists    tasks.IfExists
	Fork        string
	Comment     *Comment
	Requests    *Requests
}

// PublishModes are the values of publish.mode.
func PublishModes() []tasks.PublishMode {
	return []tasks.PublishMode{tasks.PublishNone, tasks.PublishPatch, tasks.PublishBranch, tasks.PublishPush, tasks.PublishPR}
}

var publishForm = form.Short(form.Of[Publish]{Type: form.TypeOf((*Publish).keys), Read: readPublish}, form.OneOf(PublishModes()).Type, form.IfString("mode"))

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
func readPublish(v form.Value) (Publish, bool) {
	p := form.WithDefaults((*Publish).keys)
	if _, ok := p.keys().Read(v)["mode"]; ok {
		p.Refused(policy.Publish, "publish: "+string(p.Mode), string(p.Mode))
	}
	return p, true
}

func (p *Publish) keys() form.Table {
	return form.Table{
		{Name: "mode", Field: form.Noting(&p.Value, form.Into(&p.Mode, form.OneOf(PublishModes()))), Def: "none", Doc: "none: only commit; patch: only the patch; branch: the branch in the repository; push: pushed to the remote; pr: also a pull request"},
		{Name: "base", Field: form.Into(&p.Base, form.Optional(form.Filled)), Doc: "Base branch of the pull request (the branch that the job started from, or the default branch, if absent)"},
		{Name: "title", Field: form.Into(&p.Title, form.Optional(template.TemplateForm)), Doc: "Title of the pull request (the commit's subject if absent); may contain ${{ VARIABLE }}, also summary, verify, cost and report"},
		{Name: "body", Field: form.Into(&p.Body, form.Optional(template.TemplateForm)), Doc: "Description of the pull request (made from the result if absent); variables as in title, and patterns"},
		{Name: "draft", Field: form.Into(&p.Draft, form.Bool), Def: "false", Doc: "Whether a new pull request is a draft"},
		{Name: "labels", Field: form.Into(&p.Labels, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Labels that the pull request gets"},
		{Name: "reviewers", Field: form.Into(&p.Reviewers, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Users, or teams as ORG/TEAM, that are asked for a review"},
		{Name: "assignees", Field: form.Into(&p.Assignees, form.UpTo(maxPeople, form.ListOf(form.String))), Doc: "Users that the pull request is assigned to"},
		{Name: "if_exists", Field: form.Into(&p.IfExists, form.OneOf([]tasks.IfExists{tasks.ReplaceIfExists, tasks.AppendIfExists, tasks.SkipIfExists, tasks.FailIfExists})), Def: "replace", Doc: "What to do about an open pull request of the branch: replace its texts, append to its description, skip the job, or fail"},
		{Name: "fork", Field: form.Into(&p.Fork, accountForm), Doc: "Account with the fork that the branch is pushed to, created if it is missing; auto: that of the token's user, if the token can't push to the repository"},
		{Name: "comment", Field: form.Into(&p.Comment, form.Optional(commentForm)), Doc: "Post the final message of a job that passed on an issue or a pull request, with any mode"},
		{Name: "requests", Field: form.Into(&p.Requests, form.Optional(requestsForm)), Doc: "Changes of the forge that the agent may request in its final message, which millhand makes after verify, with any mode"},
	}
}
