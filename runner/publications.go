package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/ending"
)

// MaxPublications is the maximum number of jobs of a run that are published in parallel.
// They are limited separately: a job that only waits for a remote has no slot.
const MaxPublications = 4

// enqueue frees the slot of a job whose work is complete, and waits until the job can be
// published. The caller calls leave afterwards, in any case.
func (j *job) enqueue(ctx context.Context) (leave func(), end *ending.Stop) {
	if j.slot != nil {
		j.slot()
	}
	select {
	case j.run.publications <- struct{}{}:
		leave = func() { <-j.run.publications }
	case <-ctx.Done():
		leave = func() {}
	}
	if ctx.Err() != nil {
		return leave, ending.Of(ctx)
	}
	return leave, nil
}

// landEarlier returns the landing of a job whose work an earlier run, or an earlier process of
// this one, has committed.
func (j *job) landEarlier() *landed {
	c := j.start.Earlier
	j.emit(event.Event{Type: event.Committed, Commit: &c})
	l := &landed{job: j, site: &site{job: j.siteJob, origin: j.start.Origin}, made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
	if j.start.Own && j.history.Facts != nil {
		l.result, l.baseline = resultOf(j.history.Facts, j.spec.Schema), slices.Collect(maps.Values(j.history.Baseline))
	}
	return l
}

// pushedEarlier returns the reason of a job that only pushed.
func pushedEarlier(c event.Commit) string {
	return fmt.Sprintf("branch %s (%.10s) of an earlier run was pushed", c.Branch, c.Hash)
}
