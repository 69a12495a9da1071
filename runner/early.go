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
	own   bool          // the user's own tree, whose files can be read meanwhile
	start func()        // starts it, once
	done  chan struct{} // closed at the end
	end   *ending.Stop  // why it failed; nil if it did not

	cancel context.CancelCauseFunc // ends it early
	waived bool                    // it was ended by waive: the site has no files
}

// errWaived is the cause of the end of an opening that nothing needs.
var errWaived = errors.New("the job needs no files")

// waive ends the opening of a site whose files nothing needs. It reports whether the site has none.
func (s *site) waive() bool {
	s.opening.cancel(errWaived)
	s.settled()
	return s.opening.waived
}

// settled waits until the site is complete, and returns why it can't be.
func (s *site) settled() *ending.Stop {
	if s == nil || s.opening == nil {
		return nil
	}
	s.opening.start()
	<-s.opening.done
	return s.opening.end
}

// complete reports whether the site is complete, or can't be.
func (s *site) complete() bool {
	if s.opening == nil {
		return true
	}
	select {
	case <-s.opening.done:
		return true
	default:
		return false
	}
}

// usable reports whether the site is complete.
func (s *site) usable() bool { return s.complete() && s.settled() == nil && !s.waived() }

// waived reports whether the site has no files because nothing needed them.
func (s *site) waived() bool { return s.opening != nil && s.complete() && s.opening.waived }

// early opens the site of a job beside its first request.
type early struct{ job *job }

// possible reports whether nothing needs the files of the job before its first request,
// except those that a commit contains.
func (e early) possible(s *site) bool {
	j := e.job
	if s.InPlace && sandbox.OfOther(s.origin.Root()) && (&confinement.Env{Level: j.opts.Level}).Confines() {
		return false // only the sandbox itself shows whether commands of that user can start
	}
	return e.onlyCalls() && j.start.Below == "" && j.spec.Repo.Kind != tasks.RepoCopy && (s.InPlace || j.start.Base != "")
}

// onlyCalls reports whether nothing but the calls of models runs commands in the job, except filters
// of git.
func (e early) onlyCalls() bool {
	return e.job.history.Facts == nil && onlyCalls(e.job.plan, e.job.spec)
}

// onlyCalls is described at early.onlyCalls, for a job without a past.
func onlyCalls(p *tasks.Plan, j tasks.Job) bool {
	return j.Script == nil && len(j.Setup)+len(j.Verify)+len(j.Mentions)+len(p.Hooks)+len(p.MCP) == 0 && !p.StartsProcesses() && !p.Scripts.Used()
}

// open begins to open the site of the job, whose files are its own tree or a linked worktree. The
// progress has the site as soon as something must be released, whatever happens.
func (e early) open(ctx context.Context, s *site, head gitdir.Head, p *progress) *ending.Stop {
	if s.InPlace {
		return e.ownTree(ctx, s, head, p)
	}
	p.site = s
	e.linked(ctx, s, head)
	return nil
}

// ownTree opens a site in the user's own tree. The state that changes are compared with is
// determined before the first request: immediately if the preflight has just found the tree clean, otherwise
// with all of the site.
func (e early) ownTree(ctx context.Context, s *site, head gitdir.Head, p *progress) *ending.Stop {
	j := e.job
	if err := j.openSite(ctx, s, head); err != nil {
		return notPrepared(ctx, j.opts, s, err)
	}
	p.site = s
	j.protect(s)
	tree, err := s.foundClean(j)
	if err != nil {
		return notPrepared(ctx, j.opts, s, err)
	}
	if tree == "" {
		return j.confine(ctx, s)
	}
	s.prepared, s.initial = j.opts.Now(), tree
	j.started(s, tree)
	e.begin(ctx, s, true)
	return nil
}

// linked opens a site with a linked worktree.
func (e early) linked(ctx context.Context, s *site, head gitdir.Head) {
	j := e.job
	s.ref = refOf(j.spec, head, s.base)
	s.dir = filepath.Join(confinement.RealPath(j.opts.Work), "trees", j.spec.ID)
	s.prepared = j.opts.Now()
	j.started(s, "")
	e.begin(ctx, s, false)
}

// begin lets the site be completed beside the first request: it starts when the request has been
// sent, which it would delay otherwise, or when something waits for it. A failure ends the job, also
// in the middle of the request: nothing is lost, because no tool has run.
func (e early) begin(ctx context.Context, s *site, own bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.opening = &opening{own: own, done: make(chan struct{}), cancel: cancel}
	s.opening.start = sync.OnceFunc(func() {
		go func() {
			defer close(s.opening.done)
			end := e.complete(ctx, s)
			if end == nil {
				return
			}
			s.Before = nil // there are no changes to find
			if s.opening.waived = errors.Is(context.Cause(ctx), errWaived); !s.opening.waived {
				s.opening.end = end
				e.fail(end)
			}
		}()
	})
}

// requested starts to complete the site, because the first request has been sent, and then to search for
// private files, which only commands wait for.
func (s *site) requested(j *job) {
	if s.opening != nil {
		s.opening.start()
	}
	if s.complete() {
		j.run.search()
	}
}

// fail ends the job while its session runs.
func (e early) fail(end *ending.Stop) { e.job.end(session.Timeout{Code: end.Code, Reason: end.Detail}) }

func (e early) complete(ctx context.Context, s *site) (end *ending.Stop) {
	j := e.job
	defer func() {
		if p := recover(); p != nil {
			end = &ending.Stop{Code: event.CodePanic, Detail: fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack())}
		}
	}()
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	if !s.opening.own {
		err := s.addTree(ctx, j.spec, s.dir)
		if err == nil {
			err = s.openSpace(ctx, j)
		}
		if err != nil {
			return notPrepared(ctx, j.opts, s, err)
		}
	}
	j.run.search() // not before, because the checkout uses all processors
	if end := s.openBox(ctx, j); end != nil {
		return end
	}
	j.warnOfUnread(s)
	return s.noteStart(ctx, j)
}

// readable reports whether the files of the site can be read.
func (s *site) readable() bool { return s.opening != nil && s.opening.own || s.usable() }

// longWait is how long a call waits for the files of its job before that is reported.
const longWait = time.Second

// waitFor waits until the site is complete, like settled, and reports a long wait.
func waitFor(j *job, s *site) *ending.Stop {
	if s.complete() {
		return s.settled()
	}
	s.opening.start()
	began := j.opts.Now()
	select {
	case <-s.opening.done:
		return s.opening.end
	case <-time.After(longWait):
	}
	j.emit(event.Event{Type: event.PhaseStarted, Phase: &event.Phase{Name: event.CheckoutPhase}})
	end := s.settled()
	j.emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
		Name: event.CheckoutPhase, ElapsedMS: j.opts.Now().Sub(began).Milliseconds(), Error: ending.Reason(end),
	}})
	return end
}
