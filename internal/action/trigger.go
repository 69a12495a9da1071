package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/millhand/millhand/tasks"
)

// texts has the fields of GitHub's events that people write.
type texts struct {
	Comment, Review *struct{ Body string }

	Issue, Discussion *titled
	PullRequest       *titled `json:"pull_request"`
}

type titled struct{ Title, Body string }

// CommentTarget returns the issue or pull request of an event, on which the input comment posts.
func CommentTarget(payload []byte) (*tasks.Comment, error) {
	var p struct {
		Issue *struct {
			Number      int64
			PullRequest *struct{} `json:"pull_request"`
		}
		PullRequest *struct{ Number int64 } `json:"pull_request"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, fmt.Errorf("input comment: read the payload of the event: %w", err)
	}
	switch {
	case p.PullRequest != nil && p.PullRequest.Number > 0:
		return &tasks.Comment{Number: p.PullRequest.Number}, nil
	case p.Issue != nil && p.Issue.Number > 0:
		return &tasks.Comment{Number: p.Issue.Number, Issue: p.Issue.PullRequest == nil}, nil
	}
	return nil, errors.New("input comment: the event has no issue or pull request; use publish.comment in a manifest, which names one")
}

// Triggers reports whether the event's text contains a phrase as a word, in any case and not in
// a quoted line. The text of a comment is the comment alone. Events without a text always
// trigger.
func Triggers(phrase string, payload []byte) bool {
	var e texts
	if json.Unmarshal(payload, &e) != nil {
		return true // it is refused by TrustOf
	}
	var text string
	switch {
	case e.Comment != nil:
		text = e.Comment.Body
	case e.Review != nil:
		text = e.Review.Body
	default:
		var subject *titled
		for _, s := range []*titled{e.Issue, e.Discussion, e.PullRequest} {
			if s != nil {
				subject = s
			}
		}
		if subject == nil {
			return true
		}
		text = subject.Title + "\n" + subject.Body
	}
	word, err := regexp.Compile(`(?i)(^|[^\w/@.-])` + regexp.QuoteMeta(phrase) + `($|[^\w-])`)
	if err != nil {
		return false // unreachable: the phrase is quoted
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, ">") && word.MatchString(line) {
			return true
		}
	}
	return false
}
