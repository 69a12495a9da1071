package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// unpushed reports whether a job only has to push its branch: an earlier run committed
// the same work, and was killed before its push, or the push failed. It then sets s.
//
// With if_exists: replace it always returns false. With fail the earlier work must have
// the same base commit as the job.
func (p *preflight) unpushed(ctx context.Context, j tasks.Job, o *origin, s *start, tip string) (found bool, err error) {
	if tip == "" || !j.Publish.Pushes() || j.Commit.IfExists == tasks.ReplaceIfExists {
		return false, nil
	}
	line, err := o.repo.FirstParents(tip, landing.MaxBehind)
	if err != nil {
		return false, err
	}
	base := ""
	if len(line) > 1 {
		base = line[1]
	}
	if j.Commit.IfExists != tasks.SkipIfExists && j.Commit.IfExists != tasks.AppendIfExists && base != s.base {
		return false, nil
	}
	message, err := o.repo.Message(tip)
	if err != nil || !trailers.Read(message).Finishes(landing.TaskHash(j, base)) {
		return false, err
	}
	if j.Commit.Signed() {
		if signed, err := o.repo.Signed(tip); err != nil || !signed {
			return false, err
		}
	}
	// Paths may have become protected since that run committed.
	if touched, err := o.repo.Touched(base, tip); err != nil || len(landing.EditsOf(j, o.root(), o.below).Barred(touched)) > 0 {
		return false, err
	}
	if !p.Local {
		remote, branches, err := p.remote(ctx, j, o)
		if err != nil {
			s.skip, err = cannotAsk(err)
			return true, err
		}
		at := branches[j.Commit.Branch]
		if at == tip || at != "" && !slices.Contains(line, at) {
			return false, nil
		}
		s.remote, s.lease = remote, at
	}
	s.earlier = event.Commit{Hash: tip, Branch: j.Commit.Branch, Message: message}
	return true, nil
}

// Earlier returns the commit of an earlier run that a job only pushes; the zero value if
// the job runs.
func (r *PreflightResult) Earlier(job string) event.Commit { return r.starts[job].earlier }

// landEarlier returns the landing of a job whose work an earlier run, or an earlier process of
// this one, has committed.
func (j *job) landEarlier() *landed {
	c := j.start.earlier
	j.emit(event.Event{Type: event.Committed, Commit: &c})
	l := &landed{job: j, site: &site{origin: j.start.origin}, made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
	if j.start.own && j.history.Facts != nil {
		l.result, l.baseline = resultOf(j.history.Facts, j.spec.Schema), slices.Collect(maps.Values(j.history.Baseline))
	}
	return l
}

// pushedEarlier returns the reason of a job that only pushed.
func pushedEarlier(c event.Commit) string {
	return fmt.Sprintf("branch %s (%.10s) of an earlier run was pushed", c.Branch, c.Hash)
}
