package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// The limits of texts, in bytes: longer ones are cut where they are sent, except for labels.
const (
	maxLabel = 100
	maxTitle = 200 // characters
)

// Decide returns the requests of a final message with their ids. The outcome of one that the task does not allow is refused; of
// one that done has, which earlier processes have made, done; of the others skipped if none is to be made, and else empty: they
// are to be made. The maximum numbers include done, also for earlier messages of the job. clean removes secrets from a text.
func Decide(r tasks.Requests, asked, done []event.ForgeRequest, clean func(string) string) []event.ForgeRequest {
	d := decision{Requests: r, used: map[event.RequestKind]int{}, seen: map[string]int{}, done: done}
	var all []event.ForgeRequest
	for _, one := range asked {
		all = append(all, d.prepare(one, clean))
	}
	for _, made := range done {
		d.used[made.Kind]++
	}
	for i := range all {
		d.decide(&all[i])
	}
	return all
}

type decision struct {
	tasks.Requests
	used map[event.RequestKind]int
	seen map[string]int
	done []event.ForgeRequest
}

// prepare returns a request with its id, as it would be made.
func (d decision) prepare(one event.ForgeRequest, clean func(string) string) event.ForgeRequest {
	one.Title, one.Body = printable.Line(clean(one.Title), maxTitle), clean(one.Body)
	if one.Kind == event.IssueRequest && !strings.HasPrefix(one.Title, d.TitlePrefix) {
		one.Title = d.TitlePrefix + one.Title
	}
	if label := clean(one.Label); label != one.Label {
		one.Label, one.Outcome, one.Reason = label, event.RequestRefused, "it contains a secret"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(one.Kind), one.Label, one.Title, one.Body}, "\x00")))
	one.ID = hex.EncodeToString(sum[:8])
	d.seen[one.ID]++
	if n := d.seen[one.ID]; n > 1 {
		one.ID, one.Outcome, one.Reason = fmt.Sprintf("%s-%d", one.ID, n), event.RequestRefused, "it was requested before"
	}
	return one
}

// decide sets the outcome of a request that is not to be made.
func (d decision) decide(one *event.ForgeRequest) {
	at := slices.IndexFunc(d.done, func(made event.ForgeRequest) bool { return made.ID == one.ID })
	if one.Outcome == "" && at >= 0 {
		*one = d.done[at]
		return
	}
	if one.Outcome == "" {
		if reason := d.refusal(*one); reason != "" {
			one.Outcome, one.Reason = event.RequestRefused, reason
		}
	}
	if one.Outcome != "" {
		return
	}
	d.used[one.Kind]++
	if d.Skip != "" {
		one.Outcome, one.Reason = event.RequestSkipped, d.Skip
	}
}

// refusal returns why the task does not allow a request; "" if it does.
func (d decision) refusal(one event.ForgeRequest) string {
	most, key := d.limit(one.Kind)
	switch {
	case most == 0:
		return "the task does not allow it (publish.requests." + key + ")"
	case one.Kind == event.LabelRequest && !valid(one.Label):
		return "the label is invalid"
	case one.Kind == event.LabelRequest && !policy.AllowsLabel(d.Labels, one.Label):
		return "the label is not in publish.requests.labels.allow"
	case one.Kind == event.IssueRequest && strings.TrimSpace(strings.TrimPrefix(one.Title, d.TitlePrefix)) == "":
		return "the title is empty"
	case one.Kind == event.CommentRequest && strings.TrimSpace(one.Body) == "":
		return "the comment is empty"
	case d.used[one.Kind] >= most:
		return fmt.Sprintf("the maximum number was exceeded (publish.requests.%s.max: %d)", key, most)
	}
	return ""
}

// limit returns the maximum number of a kind, and its key in a manifest.
func (d decision) limit(kind event.RequestKind) (most int, key string) {
	switch kind {
	case event.LabelRequest:
		return d.MaxLabels, "labels"
	case event.IssueRequest:
		return d.MaxIssues, "issue"
	case event.CommentRequest:
		return d.MaxComments, "comment"
	}
	return 0, string(kind)
}

// valid reports whether a label is one line of visible text. GitLab reads a comma as the end of one.
func valid(label string) bool {
	return label != "" && len(label) <= maxLabel && !strings.Contains(label, ",") && printable.Line(label, maxLabel) == label
}
