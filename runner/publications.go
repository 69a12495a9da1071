package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
)

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

// earlierDelivery returns the delivery of a job whose work an earlier run, or an earlier process of
// this one, has committed.
func (j *job) earlierDelivery() *delivery.Delivery {
	c := j.Start.Earlier
	j.Emit(event.Event{Type: event.Committed, Commit: &c})
	d := &delivery.Delivery{Work: j.left(&site.Site{Workdir: site.Workdir{Origin: j.Start.Origin}}), Made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
	if j.Start.Own && j.History.Facts != nil {
		d.Result, d.Baseline = resultOf(j.History.Facts, j.Spec), slices.Collect(maps.Values(j.History.Baseline))
	}
	return d
}

// pushedEarlier returns the reason of a job that only pushed.
func pushedEarlier(c event.Commit) string {
	return fmt.Sprintf("branch %s (%.10s) of an earlier run was pushed", c.Branch, c.Hash)
}
