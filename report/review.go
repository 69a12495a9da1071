package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/findings"
)

// Review is a job's own review of the repository (its findings), or the review of its changes, or both.
type Review struct {
	findings.Review               // the output of a job with the output schema findings; zero for others
	Verdict         event.Verdict `json:"verdict"`    // the last one; empty if the changes were not to be reviewed, or nothing was changed
	Objections      []string      `json:"objections"` // that are left
	Reason          string        `json:"reason"`     // why a valid verdict is missing; empty for others
	Model           string        `json:"model"`      // of the reviewer
	CostUSD         *money.USD    `json:"cost_usd"`   // of the reviewer, included in that of the job; nil if unknown or without a verdict
	Rounds          []ReviewRound `json:"rounds"`     // all reviews of the changes, in their order
}

// ReviewRound is one review of the changes of a job.
type ReviewRound struct {
	Attempt    int           `json:"attempt"` // after which it was
	Verdict    event.Verdict `json:"verdict"`
	Objections []string      `json:"objections"`
	Reason     string        `json:"reason"`
	Omitted    int64         `json:"omitted_bytes"` // of a diff that is too long for the reviewer
}

// Findings returns the output of the job as findings; nil for another output schema, and without an output.
func (j *Job) Findings() *findings.Review {
	r := j.Review
	if r == nil || r.Verdict != "" && r.Summary == "" && len(r.Findings) == 0 {
		return nil
	}
	return &r.Review
}

// Verdict describes the review of the job's changes in one line; "" if they were not to be reviewed.
func (j *Job) Verdict() string {
	r := j.Review
	switch {
	case r == nil || r.Verdict == "":
		return ""
	case r.Verdict == event.NotReviewed:
		return "not reviewed: " + r.Reason
	}
	text := fmt.Sprintf("%s by %s", r.Verdict, r.Model)
	if n := len(r.Rounds); n > 1 {
		text += fmt.Sprintf(" after %d reviews", n)
	}
	return text
}

// Contested reports whether the changes of the job were to be reviewed, and were not accepted.
func (j *Job) Contested() bool {
	return j.Review != nil && j.Review.Verdict != "" && j.Review.Verdict != event.ReviewAccepted
}

// takeReview adds a review. An attempt that is repeated is reviewed again.
func (j *job) takeReview(e event.Event) {
	j.dropReviews(e.Review.Attempt)
	r := *e.Review
	r.Objections = slices.Clone(r.Objections)
	j.environment.reviews = append(j.environment.reviews, reviewOf{r, e.Session})
}

// dropReviews removes the reviews of an attempt and of later ones.
func (j *job) dropReviews(attempt int) {
	j.environment.reviews = slices.DeleteFunc(j.environment.reviews, func(r reviewOf) bool { return r.Attempt >= attempt })
}

// reviewOf is a review with the id of its session.
type reviewOf struct {
	event.Review
	session string
}

// review returns the review of a job; nil without findings and reviews of its changes.
func (j *job) review(output json.RawMessage) *Review {
	found := findingsOf(j.planned, output)
	if found == nil && len(j.environment.reviews) == 0 {
		return nil
	}
	out := &Review{Review: findings.Review{Findings: []findings.Finding{}}, Objections: []string{}, Rounds: []ReviewRound{}}
	if found != nil {
		out.Review = *found
	}
	var all []event.Review
	for _, r := range j.environment.reviews {
		r.Objections = append([]string{}, r.Objections...)
		all = append(all, r.Review)
		out.Rounds = append(out.Rounds, ReviewRound{r.Attempt, r.Verdict, r.Objections, r.Reason, r.Omitted})
		if i := slices.IndexFunc(j.sessions, func(s *session) bool { return s.id == r.session }); i >= 0 {
			cost := j.sessions[i].spent().cost
			out.CostUSD = cost.USD()
		}
	}
	if last := event.LastReview(all); last != nil {
		out.Verdict, out.Objections, out.Reason, out.Model = last.Verdict, last.Objections, last.Reason, last.Model
	}
	return out
}

// findingsOf returns the findings of a job; nil if it has reported none, or has another schema.
func findingsOf(planned *event.PlannedJob, output json.RawMessage) *findings.Review {
	if planned == nil || !planned.Findings || len(output) == 0 {
		return nil
	}
	r, err := findings.Parse(output)
	if err != nil {
		return nil // not written by millhand
	}
	return r
}
