package site

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
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// opening completes a site while the model responds to the first request: it checks out the
// worktree, or searches the user's own tree, and opens the sandbox. Until it
// has ended, only the directory and base of a site with a worktree are known. Everything that
// reads files there, and each tool call, waits for it.
type opening struct {
	by    *Job
	own   bool          // the user's own tree, whose files can be read meanwhile
	start func()        // starts it, once
	done  chan struct{} // closed at the end
	end   *ending.Stop  // why it failed; nil if it did not

	cancel context.CancelCauseFunc // ends it early
	empty  bool                    // it was ended by Waive: the site has no files
}

// errWaived is the cause of the end of an opening that nothing needs.
var errWaived = errors.New("the job needs no files")

// Waive ends the opening of a site whose files nothing needs. It reports whether the site has none.
func (o *opening) Waive() bool {
	o.cancel(errWaived)
	o.Settled()
	return o.empty
}

// OpenedBeside reports whether the site is completed beside the first request, or was.
func (o *opening) OpenedBeside() bool { return o != nil }

// Settled waits until the site is complete, and returns why it can't be.
func (o *opening) Settled() *ending.Stop {
	if o == nil {
		return nil
	}
	o.start()
	<-o.done
	return o.end
}

// Complete reports whether the site is complete, or can't be.
func (o *opening) Complete() bool {
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

// Usable reports whether the site is complete and has files.
func (o *opening) Usable() bool {
	return o.Complete() && o.Settled() == nil && (o == nil || !o.empty)
}

// Readable reports whether the files of the site can be read.
func (o *opening) Readable() bool { return o != nil && o.own || o.Usable() }

// longWait is how long a call waits for the files of its job before that is reported.
const longWait = time.Second

// WaitFor waits until the site is complete, like Settled, and reports a long wait.
func (o *opening) WaitFor() *ending.Stop {
	if o.Complete() {
		return o.Settled()
	}
	o.start()
	j, began := o.by, o.by.opts.Now()
	select {
	case <-o.done:
		return o.end
	case <-time.After(longWait):
	}
	j.Emit(event.Event{Type: event.PhaseStarted, Phase: &event.Phase{Name: event.CheckoutPhase}})
	end := o.Settled()
	j.Emit(event.Event{Type: event.PhaseEnded, Phase: &event.Phase{
		Name: event.CheckoutPhase, ElapsedMS: j.opts.Now().Sub(began).Milliseconds(), Error: ending.Reason(end),
	}})
	return end
}

// mayOpenBeside reports whether nothing needs the files of the job before its first request,
// except those that a commit contains.
func (s *Site) mayOpenBeside() bool {
	j := s.job
	if s.InPlace && sandbox.OfOther(s.Origin.Root()) && (&confinement.Env{Level: j.opts.Level}).Confines() {
		return false // only the sandbox itself shows whether commands of that user can start
	}
	return j.OnlyCalls() && j.Start.Below == "" && j.Spec.Repo.Kind != tasks.RepoCopy && (s.InPlace || j.Start.Base != "") && !s.Origin.Git.Config.Cleans()
}

// OnlyCalls reports whether nothing but the calls of models runs commands in the job, except filters
// of git.
func (j *Job) OnlyCalls() bool { return j.History.Facts == nil && onlyCalls(j.Plan, j.Spec) }

// onlyCalls is described at Job.OnlyCalls, for a job without a past.
func onlyCalls(p *tasks.Plan, j tasks.Job) bool {
	return j.Script == nil && len(j.Setup)+len(j.Verify)+len(j.Mentions)+len(p.Hooks)+len(p.MCP) == 0 && !p.StartsProcesses() && !p.Scripts.Used()
}

// searchBeside opens the rest of a site in the user's own tree. The state that changes are compared with is
// determined before the first request: immediately if the preflight has just found the tree clean, otherwise
// with all of the site.
func (s *Site) searchBeside(ctx context.Context) *ending.Stop {
	tree, err := s.foundClean()
	if err != nil {
		return notPrepared(ctx, s.job.opts, s, err)
	}
	if tree == "" {
		return s.Confine(ctx)
	}
	s.Initial = tree
	s.job.TimeLimit.start()
	s.completeBeside(ctx, true)
	return nil
}

// checkOutBeside opens a site with a linked worktree.
func (s *Site) checkOutBeside(ctx context.Context, head gitdir.Head) {
	j := s.job
	s.Ref = refOf(j.Spec, head, s.Base)
	s.Dir = filepath.Join(confinement.RealPath(j.opts.Work), "trees", j.Spec.ID)
	j.TimeLimit.start()
	s.completeBeside(ctx, false)
}

// completeBeside lets the site be completed beside the first request: it starts when the request has been
// sent, which it would delay otherwise, or when something waits for it. A failure ends the job, also
// in the middle of the request: nothing is lost, because no tool has run.
func (s *Site) completeBeside(ctx context.Context, own bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	o := &opening{by: s.job, own: own, done: make(chan struct{}), cancel: cancel}
	s.opening = o
	o.start = sync.OnceFunc(func() {
		go func() {
			defer close(o.done)
			end := s.finish(ctx)
			if end == nil {
				return
			}
			s.Before = nil // there are no changes to find
			if o.empty = errors.Is(context.Cause(ctx), errWaived); !o.empty {
				o.end = end
				s.job.Fails(end)
			}
		}()
	})
}

// Requested starts to complete the site, because the first request has been sent, and then to search for
// private files, which only commands wait for.
func (s *Site) Requested() {
	if s.opening != nil {
		s.start()
	}
	if s.Complete() {
		s.job.run.search()
	}
}

// Fails ends the job while its session runs.
func (j *Job) Fails(end *ending.Stop) { j.End(event.EndCause{Code: end.Code, Reason: end.Detail}) }

// finish completes the site.
func (s *Site) finish(ctx context.Context) (end *ending.Stop) {
	defer func() {
		if p := recover(); p != nil {
			end = &ending.Stop{Code: event.CodePanic, Detail: fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack())}
		}
	}()
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	if !s.own {
		err := s.addTree(ctx, s.Dir)
		if err == nil {
			err = s.openSpace(ctx)
		}
		if err != nil {
			return notPrepared(ctx, s.job.opts, s, err)
		}
	}
	s.job.run.search() // not before, because the checkout uses all processors
	if end := s.Sandboxes.open(ctx); end != nil {
		return end
	}
	s.WarnOfUnread()
	return s.noteStart(ctx)
}
