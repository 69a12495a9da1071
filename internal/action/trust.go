package action

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Trust describes whether the event of a workflow is trusted.
type Trust struct {
	// Untrusted is the reason not to trust manifests; "" for no reason.
	Untrusted string
	// Actor is the user whose write access decides; "" if none is needed.
	Actor string
	// PullRequest is the number of a pull request that must not come from a fork;
	// 0 for none.
	PullRequest int
}

// payload has the fields of GitHub's events about users and forks. Each event has only
// some of them.
type payload struct {
	Sender     struct{ Login string }
	Repository struct {
		FullName string `json:"full_name"`
	}
	PullRequest *struct{ Head struct{ Repo *fullName } } `json:"pull_request"`
	WorkflowRun *struct {
		Event           string
		TriggeringActor struct{ Login string } `json:"triggering_actor"`
		HeadRepository  *fullName              `json:"head_repository"`
	} `json:"workflow_run"`
	Issue *struct {
		Number      int
		PullRequest *struct{} `json:"pull_request"`
	}
}

type fullName struct {
	FullName string `json:"full_name"`
}

// TrustOf evaluates an event by its name and payload (GITHUB_EVENT_NAME and the file
// GITHUB_EVENT_PATH). Events that require write access are trusted; those of forks are
// not; for others the write access of the actor has to be checked. Unknown events are
// not trusted.
func TrustOf(name string, text []byte) Trust {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return Trust{Untrusted: fmt.Sprintf("read the payload of the event %s: %v", name, err)}
	}
	if writersOnly(name) {
		return Trust{}
	}
	var head *fullName
	switch {
	case p.PullRequest != nil:
		head = p.PullRequest.Head.Repo
	case p.WorkflowRun != nil:
		head = p.WorkflowRun.HeadRepository
	default:
		t := actorEvent(name, p.Sender.Login)
		if p.Issue != nil && p.Issue.PullRequest != nil && t.Actor != "" {
			t.PullRequest = p.Issue.Number
		}
		return t
	}
	if head == nil || head.FullName == "" || head.FullName != p.Repository.FullName {
		return Trust{Untrusted: "the event " + name + " comes from a fork"}
	}
	switch {
	case p.WorkflowRun != nil && !writersOnly(p.WorkflowRun.Event) && p.WorkflowRun.Event != "pull_request":
		return actorEvent(name, p.WorkflowRun.TriggeringActor.Login)
	case slices.Contains([]string{"pull_request_review", "pull_request_review_comment"}, name):
		return actorEvent(name, p.Sender.Login)
	}
	return Trust{}
}

// writersOnly reports whether only people with write access cause an event.
func writersOnly(event string) bool {
	return slices.Contains([]string{"push", "schedule", "workflow_dispatch", "repository_dispatch", "release", "merge_group", "create", "delete", "deployment"}, event)
}

// actorEvent makes an event depend on the write access of who caused it.
func actorEvent(event, login string) Trust {
	if login == "" {
		return Trust{Untrusted: "the event " + event + " doesn't say who caused it"}
	}
	return Trust{Actor: login}
}
