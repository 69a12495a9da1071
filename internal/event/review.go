package event

import (
	"slices"
	"strings"
)

// Verdict is the result of a review of changes.
type Verdict string

// The verdicts.
const (
	ReviewAccepted Verdict = "accepted"
	ReviewRejected Verdict = "rejected"
	NotReviewed    Verdict = "not_reviewed" // the reviewer has given no valid verdict
)

// Verdicts returns all verdicts.
func Verdicts() []Verdict { return []Verdict{ReviewAccepted, ReviewRejected, NotReviewed} }

// Review is the payload of review.ended: what a reviewer found in the changes after an attempt. Its texts are of a model.
type Review struct {
	Attempt    int      `json:"attempt"`                 // after which the changes were reviewed
	Model      string   `json:"model"`                   // of the reviewer
	Diff       string   `json:"diff"`                    // SHA-256 of the diff that was shown, in hexadecimal
	Omitted    int64    `json:"omitted_bytes,omitempty"` // of the diff, because it is too long
	Verdict    Verdict  `json:"verdict"`                 // accepted, rejected or not_reviewed
	Objections []string `json:"objections"`              // of a review that rejected the changes
	Reason     string   `json:"reason,omitempty"`        // why a valid verdict is missing
}

// LastReview returns the result of several reviews of one job: the last one, with the objections that are left, which without a
// valid verdict are those before it. It is nil without reviews.
func LastReview(all []Review) *Review {
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	for _, r := range slices.Backward(all) {
		if r.Verdict != NotReviewed {
			last.Objections = r.Objections
			break
		}
	}
	return &last
}

// reviewer ends the names of sessions that review the changes of a job.
const reviewer = "@review"

// ReviewSession returns the name of the session that reviews the changes of a job. No job has such a name.
func ReviewSession(job string) string { return job + reviewer }

// IsReview reports whether a session, given by its id or name, reviews the changes of its job.
func IsReview(session string) bool { return strings.HasSuffix(session, reviewer) }
