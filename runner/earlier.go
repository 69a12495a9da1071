package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/tasks"
)

// mostBehind is how many commits a remote's branch may be behind ours to be
// recognised as such.
const mostBehind = 256

// unpushed finds out whether all that is left to do of a job is to push its
// branch: an earlier run committed the same work, and was killed before its
// push, or the push failed. s then says what to push.
//
// Under if_exists: replace the work is done anew, whatever there is. Under fail
// it must have begun at the commit that the job would begin at now.
func (p *preflight) unpushed(ctx context.Context, j tasks.Job, o *origin, s *start, tip string) (found bool, err error) {
	if tip == "" || j.Publish != tasks.PublishPush || j.Commit.IfExists == tasks.ReplaceIfExists {
		return false, nil
	}
	line, err := o.repo.FirstParents(tip, mostBehind)
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
	if err != nil || !finishes(message, j, base) {
		return false, err
	}
	// What is protected now may not have been when that run committed.
	if touched, err := o.repo.Touched(base, tip, j.Commit.Protect); err != nil || len(touched) > 0 {
		return false, err
	}
	if !p.Local {
		remote, branches, err := o.remote(ctx)
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

// finishes reports whether a commit with that message is the finished work of a
// job on a base.
func finishes(message string, j tasks.Job, base string) bool {
	finished := false
	for line := range strings.Lines(message) {
		if strings.HasPrefix(line, wipTrailer) {
			return false
		}
		finished = finished || strings.TrimSpace(line) == taskTrailer+taskHash(j, base)
	}
	return finished
}

// Earlier returns the commit of an earlier run that is all that a job pushes;
// the zero value if the job does its work.
func (r *Ready) Earlier(job string) event.Commit { return r.starts[job].earlier }

// landEarlier brings the job to the last phase of its landing: an earlier run
// has done its work.
func (j *job) landEarlier() *landing {
	c := j.start.earlier
	j.emit(event.Event{Type: event.CommitMade, Commit: &c})
	return &landing{job: j, site: &site{origin: j.start.origin}, made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
}

// pushedEarlier is why a job has passed without doing anything else.
func pushedEarlier(c event.Commit) string {
	return fmt.Sprintf("branch %s (%.10s) of an earlier run was pushed", c.Branch, c.Hash)
}
