package commands

import (
	"context"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/ending"
)

// Baselines has the results of verify commands before agents start, which jobs share.
type Baselines struct {
	mu   sync.Mutex
	runs map[string]*baselineRun
}

// baselineRun is a job's run of its verify commands.
type baselineRun struct {
	done     chan struct{} // closed at its end
	complete bool          // there are results
	results  []event.Baseline
}

// Share returns the results for a key: those of another job, or those of run. If another
// job is running the commands, it waits; if that job is cancelled or fails, the next one
// runs them. An empty key is not shared.
func (b *Baselines) Share(ctx context.Context, key string, run func() ([]event.Baseline, *ending.Stop)) (results []event.Baseline, shared bool, end *ending.Stop) {
	if key == "" {
		results, end = run()
		return results, false, end
	}
	for {
		r, mine := b.take(key)
		if mine {
			results, end = b.complete(key, r, run)
			return results, false, end
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, false, ending.Of(ctx)
		}
		if r.complete {
			return r.results, true, nil
		}
	}
}

// take returns the run for a key, and whether the caller has to do it.
func (b *Baselines) take(key string) (r *baselineRun, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.runs[key]; r != nil {
		return r, false
	}
	if b.runs == nil {
		b.runs = map[string]*baselineRun{}
	}
	r = &baselineRun{done: make(chan struct{})}
	b.runs[key] = r
	return r, true
}

// complete does a run. Without results, also after a panic, another job can take it.
func (b *Baselines) complete(key string, r *baselineRun, run func() ([]event.Baseline, *ending.Stop)) (results []event.Baseline, end *ending.Stop) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !r.complete {
			delete(b.runs, key)
		}
		close(r.done)
	}()
	results, end = run()
	r.results, r.complete = results, end == nil
	return results, end
}
