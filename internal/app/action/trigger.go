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

// CommentTarget returns the issue or pull request of an event, on which the input comment posts; sticky is
// whether it updates the comment of earlier runs.
func CommentTarget(payload []byte, sticky bool) (*tasks.Comment, error) {
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
		return &tasks.Comment{Number: p.PullRequest.Number, Sticky: sticky}, nil
	case p.Issue != nil && p.Issue.Number > 0:
		return &tasks.Comment{Number: p.Issue.Number, Issue: p.Issue.PullRequest == nil, Sticky: sticky}, nil
	}
	return nil, errors.New("input comment: the event has no issue or pull request; use publish.comment in a manifest, which names one")
}

// Trigger is what an event must have to start a run, any of it: the inputs trigger-phrase, trigger-label and
// trigger-assignee. The zero value needs nothing.
type Trigger struct{ Phrase, Label, Assignee string }

// Missing returns what an event lacks to start a run; "" if it may start one. Events about no issue, pull
// request or discussion, such as push, need nothing.
func (t Trigger) Missing(name string, payload []byte) string {
	var e struct {
		texts
		Action   string
		Label    struct{ Name string }
		Assignee struct{ Login string }
	}
	if t == (Trigger{}) || json.Unmarshal(payload, &e) != nil { // an invalid one is refused by TrustOf
		return ""
	}
	lacks := ""
	switch {
	case e.texts == (texts{}):
	case e.Action == "labeled" && t.Label != "":
		if !strings.EqualFold(e.Label.Name, t.Label) {
			lacks = fmt.Sprintf("is about the label %q, not %q", short(e.Label.Name), t.Label)
		}
	case e.Action == "assigned" && t.Assignee != "":
		if !strings.EqualFold(e.Assignee.Login, t.Assignee) {
			lacks = fmt.Sprintf("is about the assignee %q, not %q", short(e.Assignee.Login), t.Assignee)
		}
	case t.Phrase == "":
		lacks = "does not add the label or the assignee that starts a run"
	case !e.contain(t.Phrase):
		lacks = fmt.Sprintf("does not contain %q", t.Phrase)
	}
	if lacks == "" {
		return ""
	}
	return "the event " + name + " " + lacks
}

// contain reports whether the text of an event contains a phrase as a word, in any case and not in
// a quoted line. The text of a comment is the comment alone.
func (e texts) contain(phrase string) bool {
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
