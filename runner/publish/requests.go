package publish

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
)

// Requests makes changes of a forge that an agent has requested.
type Requests struct {
	CommentTarget
	Thread forge.Thread // that labels and comments are for; zero for none
	Job    string       // id
	Facts  Facts
}

// All makes the changes whose outcome is not decided, and calls started before each of them, and ended with the outcome of all. The error is
// a [*Failure] if the forge did not accept one, or the cause of ctx.
func (r *Requests) All(ctx context.Context, all []event.ForgeRequest, started, ended func(event.ForgeRequest)) error {
	var failed error
	for _, one := range all {
		if one.Outcome == "" {
			started(one)
			url, err := r.Make(ctx, one)
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			one.Outcome, one.URL = event.RequestDone, url
			if err != nil {
				one.Outcome, one.Reason = event.RequestFailed, err.Error()
				failed = &Failure{Code: event.CodeForge, Detail: fmt.Sprintf("%s: %v", one.What(), err)}
			}
		}
		ended(one)
	}
	return failed
}

// Make makes a change, and returns the address of what was made, "" for a label. One that an earlier process of the run has made
// is not repeated.
func (r *Requests) Make(ctx context.Context, one event.ForgeRequest) (url string, err error) {
	if r.Thread.Number == 0 && one.Kind != event.IssueRequest {
		return "", fmt.Errorf("%s: the job has no pull request: %w", one.What(), forge.ErrNotFound)
	}
	marker := markerOf("request", r.Job, r.Facts.Run, one.ID)
	text := harmlessHead(one.Body, maxComment) + "\n\n" + r.Facts.origin()
	switch one.Kind {
	case event.LabelRequest:
		return "", r.Client.AddLabel(ctx, r.Repo, r.Thread, one.Label)
	case event.IssueRequest:
		made, err := r.Client.CreateIssue(ctx, r.Repo, marker, titleText(one.Title), text)
		return made.URL, err
	case event.CommentRequest:
		made, err := r.Client.Comment(ctx, r.Repo, r.Thread, marker, text)
		return made.URL, err
	}
	return "", fmt.Errorf("request of kind %q: %w", one.Kind, forge.ErrInvalid)
}
