package report

import (
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// basis is what the patch of a job is relative to.
type basis struct {
	base      *Base    // nil without one
	rebased   *Base    // commit to which the job's own commits were applied; nil after a session on it
	own       []string // commits of the job
	continued bool     // the base is one of them
}

// start records the start of a job. If its commits are applied to a newer base, the patch is still
// relative to the earlier one, until a session makes another patch.
func (b *basis) start(s *event.JobStart) {
	var at *Base
	if s.Base != "" {
		at = &Base{Ref: s.BaseRef, Commit: s.Base}
	}
	if s.Onto != "" && b.base != nil {
		b.rebased = at
		return
	}
	b.base, b.rebased, b.continued = at, nil, slices.Contains(b.own, s.Base)
}

// attempt records the start of an attempt.
func (b *basis) attempt() {
	if b.rebased != nil {
		b.base, b.rebased, b.continued = b.rebased, nil, false
	}
}

// commit records a commit of the job.
func (b *basis) commit(hash string) {
	b.own = append(b.own, hash)
}

// Continued reports whether a later prompt has continued the job on top of its own commit: its
// changes and its patch are only those since then.
func (j *Job) Continued() bool { return j.continued }
