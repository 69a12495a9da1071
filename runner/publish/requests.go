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
