package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// opening completes a site while the model responds to the first request: it checks out the
// worktree, or searches the user's own tree, and opens the sandbox. Until it
// has ended, only the directory and base of a site with a worktree are known. Everything that
// reads files there, and each tool call, waits for it.
type opening struct {
	job   *siteJob
	own   bool          // the user's own tree, whose files can be read meanwhile
	start func()        // starts it, once
	done  chan struct{} // closed at the end
	end   *ending.Stop  // why it failed; nil if it did not

	cancel context.CancelCauseFunc // ends it early
	empty  bool                    // it was ended by waive: the site has no files
}

// errWaived is the cause of the end of an opening that nothing needs.
var errWaived = errors.New("the job needs no files")

// waive ends the opening of a site whose files nothing needs. It reports whether the site has none.
func (o *opening) waive() bool {
	o.cancel(errWaived)
	o.settled()
	return o.empty
}

// settled waits until the site is complete, and returns why it can't be.
func (o *opening) settled() *ending.Stop {
	if o == nil {
		return nil
	}
	o.start()
	<-o.done
	return o.end
}

// complete reports whether the site is complete, or can't be.
func (o *opening) complete() bool {
	if o == nil {
		return true
	}
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// usable reports whether the site is complete and has files.
func (o *opening) usable() bool {
	return o.complete() && o.settled() == nil && (o == nil || !o.empty)
}

// readable reports whether the files of the site can be read.
func (o *opening) readable() bool { return o != nil && o.own || o.usable() }

// longWait is how long a call waits for the files of its job before that is reported.
const longWait = time.Second

// waitFor waits until the site is complete, like settled, and reports a long wait.
func (o *opening) waitFor() *ending.Stop {
	if o.complete() {
		return o.settled()
	}
	o.start()
	j, began := o.job, o.job.opts.Now()
	select {
	case <-o.done:
		return o.end
	case <-time.After(longWait):
	}
	j.emit(event.Event{Type: event.PhaseStarted, Phase: &event.Phase{Name: event.CheckoutPhase}})
	end := o.settled()
	j.emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
		Name: event.CheckoutPhase, ElapsedMS: j.opts.Now().Sub(began).Milliseconds(), Error: ending.Reason(end),
	}})
	return end
}

// mayOpenBeside reports whether nothing needs the files of the job before its first request,
// except those that a commit contains.
func (s *site) mayOpenBeside() bool {
	j := s.job
	if s.InPlace && sandbox.OfOther(s.origin.Root()) && (&confinement.Env{Level: j.opts.Level}).Confines() {
		return false // only the sandbox itself shows whether commands of that user can start
	}
	return j.onlyCalls() && j.start.Below == "" && j.spec.Repo.Kind != tasks.RepoCopy && (s.InPlace || j.start.Base != "")
}

// onlyCalls reports whether nothing but the calls of models runs commands in the job, except filters
// of git.
func (j *siteJob) onlyCalls() bool { return j.history.Facts == nil && onlyCalls(j.plan, j.spec) }

// onlyCalls is described at siteJob.onlyCalls, for a job without a past.
func onlyCalls(p *tasks.Plan, j tasks.Job) bool {
	return j.Script == nil && len(j.Setup)+len(j.Verify)+len(j.Mentions)+len(p.Hooks)+len(p.MCP) == 0 && !p.StartsProcesses() && !p.Scripts.Used()
}

// searchBeside opens the rest of a site in the user's own tree. The state that changes are compared with is
// determined before the first request: immediately if the preflight has just found the tree clean, otherwise
// with all of the site.
func (s *site) searchBeside(ctx context.Context) *ending.Stop {
	tree, err := s.foundClean()
	if err != nil {
		return notPrepared(ctx, s.job.opts, s, err)
	}
	if tree == "" {
		return s.confine(ctx)
	}
	s.prepared, s.initial = s.job.opts.Now(), tree
	s.completeBeside(ctx, true)
	return nil
}

// checkOutBeside opens a site with a linked worktree.
func (s *site) checkOutBeside(ctx context.Context, head gitdir.Head) {
	j := s.job
	s.ref = refOf(j.spec, head, s.base)
	s.dir = filepath.Join(confinement.RealPath(j.opts.Work), "trees", j.spec.ID)
	s.prepared = j.opts.Now()
	s.completeBeside(ctx, false)
}

// completeBeside lets the site be completed beside the first request: it starts when the request has been
// sent, which it would delay otherwise, or when something waits for it. A failure ends the job, also
// in the middle of the request: nothing is lost, because no tool has run.
func (s *site) completeBeside(ctx context.Context, own bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.opening = &opening{job: s.job, own: own, done: make(chan struct{}), cancel: cancel}
	s.opening.start = sync.OnceFunc(func() {
		go func() {
			defer close(s.opening.done)
			end := s.finish(ctx)
			if end == nil {
				return
			}
			s.Before = nil // there are no changes to find
			if s.opening.empty = errors.Is(context.Cause(ctx), errWaived); !s.opening.empty {
				s.opening.end = end
				s.job.fails(end)
			}
		}()
	})
}

// requested starts to complete the site, because the first request has been sent, and then to search for
// private files, which only commands wait for.
func (s *site) requested() {
	if s.opening != nil {
		s.opening.start()
	}
	if s.complete() {
		s.job.run.search()
	}
}

// fails ends the job while its session runs.
func (j *siteJob) fails(end *ending.Stop) { j.end(session.Timeout{Code: end.Code, Reason: end.Detail}) }

// finish completes the site.
func (s *site) finish(ctx context.Context) (end *ending.Stop) {
	defer func() {
		if p := recover(); p != nil {
			end = &ending.Stop{Code: event.CodePanic, Detail: fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack())}
		}
	}()
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	if !s.opening.own {
		err := s.addTree(ctx, s.dir)
		if err == nil {
			err = s.openSpace(ctx)
		}
		if err != nil {
			return notPrepared(ctx, s.job.opts, s, err)
		}
	}
	s.job.run.search() // not before, because the checkout uses all processors
	if end := s.sandboxes.open(ctx); end != nil {
		return end
	}
	s.warnOfUnread()
	return s.noteStart(ctx)
}
