package preflight

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// unpushed reports whether a job only has to push its branch: an earlier run committed
// the same work, and was killed before its push, or the push failed. It then sets s.
//
// With if_exists: replace it always returns false. With fail the earlier work must have
// the same base commit as the job.
func (p *checker) unpushed(ctx context.Context, j tasks.Job, o *origin, s *Start, tip string) (found bool, err error) {
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
	if j.Commit.IfExists != tasks.SkipIfExists && j.Commit.IfExists != tasks.AppendIfExists && base != s.Base {
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
			s.Skip, err = cannotAsk(err)
			return true, err
		}
		at := branches[j.Commit.Branch]
		if at == tip || at != "" && !slices.Contains(line, at) {
			return false, nil
		}
		s.Remote, s.Lease = remote, at
	}
	s.Earlier = event.Commit{Hash: tip, Branch: j.Commit.Branch, Message: message}
	return true, nil
}

// Earlier returns the commit of an earlier run that a job only pushes; the zero value if
// the job runs.
func (r *Result) Earlier(job string) event.Commit { return r.Starts[job].Earlier }
