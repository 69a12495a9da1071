package verification

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millhand/millhand/report/evidence"
)

// Repo is what a repository that may have commits of a run has of them.
type Repo struct {
	Name string
	// Messages are those of the commits on branches and tags that are not older than [Verification.Since], by hash.
	Messages map[string]string
	Has      map[string]bool // the commits of [Verification.Commits] that exist, on a branch or not
	Err      error           // why they could not be read
}

// checkTrailers checks that the trailers of commits name events of their jobs before them.
func (v *Verification) checkTrailers() {
	before, n := len(v.result.Problems), 0
	for _, c := range v.made {
		t := evidence.MakerOf(c.Message)
		if t.Run != v.run.ID {
			continue // of an earlier run, which this one only pushes
		}
		line, known := v.lines[t.Hash]
		switch {
		case t.Hash == "":
			v.problem(evidence.EventsFile, c.line, "the commit %.10s of job %s has no trailer Millhand-Evidence", c.Hash, c.job)
		case t.Job != c.job:
			v.problem(evidence.EventsFile, c.line, "the commit %.10s of job %s has the trailer of job %s", c.Hash, c.job, t.Job)
		case !known || line >= c.line || v.jobs[t.Hash] != c.job:
			v.problem(evidence.EventsFile, c.line, "the trailer of the commit %.10s of job %s names no event of the job before it: the events were changed", c.Hash, c.job)
		default:
			n++
		}
	}
	if len(v.result.Problems) == before && n > 0 {
		v.verified("commits: the trailers of %d name events of their jobs", n)
	}
	v.limit(before)
}

// clockSkew is how much older than the start of a run its commits may be.
const clockSkew = 24 * time.Hour

// Since returns the time before which the run made no commits, false if the events are not those of a run.
func (v *Verification) Since() (time.Time, bool) {
	if v.report == nil {
		return time.Time{}, false
	}
	return v.report.Run.StartedAt.Add(-clockSkew), true
}

// Commits returns the commits of the jobs and their bases: a repository that has none is not of the run.
func (v *Verification) Commits() (all []string) {
	for _, j := range v.report.Jobs {
		if j.Commit != nil {
			all = append(all, j.Commit.Hash)
			if j.Base != nil {
				all = append(all, j.Base.Commit)
			}
		}
	}
	return all
}

// Compare compares the commits of a repository with the events.
func (v *Verification) Compare(r Repo) {
	v.repos++
	if r.Err != nil {
		v.problem(r.Name, 0, "%v", r.Err)
		return
	}
	before, rep, there := len(v.result.Problems), v.report, r.Messages
	made := map[string]string{}
	for _, c := range v.made {
		made[c.Hash] = c.job
		if message, ok := there[c.Hash]; ok && evidence.MakerOf(message) != evidence.MakerOf(c.Message) {
			v.problem(r.Name, 0, "the commit %.10s of job %s has other trailers than %s:%d: the events were changed", c.Hash, c.job, evidence.EventsFile, c.line)
		}
	}
	unknown := v.unknown(there, made)
	n, expected := 0, 0
	for _, j := range rep.Jobs {
		if j.Commit == nil || !r.Has[j.Commit.Hash] && (j.Base == nil || !r.Has[j.Base.Commit]) {
			continue // of another repository
		}
		expected++
		if _, ok := there[j.Commit.Hash]; ok {
			n++
			continue
		}
		what := fmt.Sprintf("the commit %.10s of job %s is on no branch or tag", j.Commit.Hash, j.ID)
		if other := unknown[j.ID]; other != "" {
			what += fmt.Sprintf("; %.10s has its trailers: it was amended or rebased", other)
			delete(unknown, j.ID)
		}
		v.problem(r.Name, 0, "%s", what)
	}
	for _, job := range slices.Sorted(maps.Keys(unknown)) {
		v.problem(r.Name, 0, "the commit %.10s names the run and job %s, and no event of it: it was amended or rebased, or the events were changed", unknown[job], job)
	}
	switch {
	case len(v.result.Problems) > before:
	case len(evidence.Commits(rep)) == 0:
		v.note(fmt.Sprintf("%s: the run has made no commits to compare, and no commit there names the run", r.Name))
	case expected == 0:
		v.problem(r.Name, 0, "the repository has no commit of the run, and no base of one")
	default:
		v.verified("%s: has %s of the run, on branches or tags", r.Name, count(n))
	}
	v.limit(before)
}

// unknown returns a commit with the trailers of the run that it has not made, for each job that
// they name.
func (v *Verification) unknown(there, made map[string]string) map[string]string {
	found := map[string]string{}
	for _, hash := range slices.Sorted(maps.Keys(there)) {
		if t := evidence.MakerOf(there[hash]); t.Run == v.run.ID && t.Hash != "" && made[hash] == "" {
			found[t.Job] = hash
		}
	}
	return found
}

func count(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}
