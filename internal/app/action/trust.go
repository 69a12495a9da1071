package action

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Trust describes whether the event of a workflow is trusted.
type Trust struct {
	// Untrusted is the reason not to trust manifests; "" for no reason.
	Untrusted string
	// Actor is the user who caused the event; "" if it does not say.
	Actor string
	// Bot reports whether the actor is an app.
	Bot bool
	// Writer reports whether nobody without write access can cause the event. Otherwise the actor's
	// access decides.
	Writer bool
	// PullRequest is the number of a pull request that must not come from a fork;
	// 0 for none.
	PullRequest int
}

// payload has the fields of GitHub's events about users and forks. Each event has only
// some of them.
type payload struct {
	Sender     user
	Repository struct {
		FullName string `json:"full_name"`
	}
	PullRequest *struct{ Head struct{ Repo *fullName } } `json:"pull_request"`
	WorkflowRun *workflowRun                             `json:"workflow_run"`
	Issue       *struct {
		Number      int
		PullRequest *struct{} `json:"pull_request"`
	}
}

// maxLogin limits the login of a user, in bytes. The longest ones of GitHub have 39, with [bot] 44; it is written to logs.
const maxLogin = 100

// users are those who may have caused the event.
func (p *payload) users() []user {
	if p.WorkflowRun == nil {
		return []user{p.Sender}
	}
	return []user{p.Sender, p.WorkflowRun.Actor, p.WorkflowRun.TriggeringActor}
}

type workflowRun struct {
	Event           string
	Actor           user
	TriggeringActor user      `json:"triggering_actor"`
	HeadRepository  *fullName `json:"head_repository"`
}

// actor returns who caused the event of the workflow, not who has run the workflow again: the texts of the event are
// of the former, and a maintainer who repeats a failed run has not approved them.
func (w *workflowRun) actor() user {
	if w.Actor.Login != "" {
		return w.Actor
	}
	return w.TriggeringActor
}

type fullName struct {
	FullName string `json:"full_name"`
}

type user struct{ Login, Type string }

// TrustOf evaluates an event by its name and payload (GITHUB_EVENT_NAME and the file
// GITHUB_EVENT_PATH). Events that require write access are trusted; those of forks are
// not; for others the write access of the actor has to be checked. Unknown events are
// not trusted. The error is that of a payload that can't be read.
func TrustOf(name string, text []byte) (Trust, error) {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return Trust{}, fmt.Errorf("read the payload of the event %s: %w", name, err)
	}
	for _, u := range p.users() {
		if len(u.Login) > maxLogin {
			return Trust{}, fmt.Errorf("read the payload of the event %s: a login has %d bytes (maximum: %d)", name, len(u.Login), maxLogin)
		}
	}
	t := p.Sender.trust()
	if t.Writer = writersOnly(name); t.Writer {
		return t, nil
	}
	var head *fullName
	switch {
	case p.PullRequest != nil:
		head = p.PullRequest.Head.Repo
		t.Writer = !slices.Contains([]string{"pull_request_review", "pull_request_review_comment"}, name)
	case p.WorkflowRun != nil:
		t = p.WorkflowRun.actor().trust()
		head = p.WorkflowRun.HeadRepository
		t.Writer = writersOnly(p.WorkflowRun.Event) || p.WorkflowRun.Event == "pull_request"
	default:
		if p.Issue != nil && p.Issue.PullRequest != nil {
			t.PullRequest = p.Issue.Number
		}
		return t, nil
	}
	if head == nil || head.FullName == "" || head.FullName != p.Repository.FullName {
		t.Untrusted, t.Writer = "the event "+name+" comes from a fork", false
	}
	return t, nil
}

// trust returns what is known of the actor of an event.
func (u user) trust() Trust {
	return Trust{Actor: u.Login, Bot: u.Type == "Bot" || strings.HasSuffix(strings.ToLower(u.Login), "[bot]")}
}

// writersOnly reports whether only people with write access cause an event.
func writersOnly(event string) bool {
	return slices.Contains([]string{"push", "schedule", "workflow_dispatch", "repository_dispatch", "release", "merge_group", "create", "delete", "deployment"}, event)
}
