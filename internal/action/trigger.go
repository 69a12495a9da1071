package action

import (
	"encoding/json"
	"regexp"
	"strings"
)

// texts has the fields of GitHub's events that people write.
type texts struct {
	Comment, Review *struct{ Body string }

	Issue, Discussion *titled
	PullRequest       *titled `json:"pull_request"`
}

type titled struct{ Title, Body string }

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
