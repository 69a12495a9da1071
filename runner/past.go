package runner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/publish"
	"github.com/millhand/millhand/tasks"
)

// Past is what earlier processes did of a run, from its events: a run that is resumed
// continues from it. It is an [event.Sink]; the zero value is ready to use.
type Past struct {
	Run     *event.Run    // the first run.started; nil without one
	Ended   bool          // the last process ended the run
	Elapsed time.Duration // of all processes
	Last    event.Event   // without payload

	started   time.Time // of the current process
	jobs      map[string]*pastJob
	except    []string      // jobs that are left out
	only      string        // the only job that is run; "" for all
	endedOnce bool          // an earlier process has ended the run
	ending    *event.RunEnd // the last one; nil while the run is not ended
	forking   bool          // the run is starting as the fork of another: it has no events yet
}

// pastJob is what earlier processes did of a job.
type pastJob struct {
	fork      *event.Fork // of a run that was forked from another; nil for other runs
	start     *event.JobStart
	first     string        // commit that the job started from in the first process
	end       *event.JobEnd // nil for a job that did not end
	followUp  string        // another prompt for the job's session, after its end; "" for none
	revert    *reversion    // that is in progress; nil for none
	reverted  *event.Revert // nil unless the session is to continue from an earlier turn
	fresh     bool          // the job is started again, without its conversation
	attempts  int
	prompt    string // of the last attempt
	baseline  map[string]event.Baseline
	commit    *event.Commit
	comment   *event.Comment // that was posted; nil for none
	published pastPublished
	sessions  map[string]*pastSession
	left      []event.Left // in the order of their events
	final     string       // the last message of the job's own session

	replacing      string          // commit of the job that a follow-up prompt is changing, which was killed; "" for none
	hashes         map[string]bool // commits that the run has made or pushed for the job
	attemptsBefore int             // when the job ended
	rebased        int             // last turn when the job was rebased; its saved states have another base
	rebase         bool            // the follow-up prompt is about a rebase onto the current base
	quiet          bool            // the pull request's description stays as it is
	clock          pastClock
}

// pastClock measures the time of a job in several processes.
type pastClock struct {
	elapsed       time.Duration // between its events
	process, last time.Time
}

// pastPublished is what earlier processes published of a job.
type pastPublished struct {
	remote        string // that the last commit was pushed to; "" for none
	pull, comment creation
}

// creation is what earlier processes created on the forge.
type creation struct {
	publish.Earlier
	begun bool // by the last process
}

// pastSession is what earlier processes did of a session.
type pastSession struct {
	copied int // last turn of a conversation that was copied from another run; 0 for none
	turns  map[int]pastTurn
}

type pastTurn struct {
	base   string      // commit that the job had started from
	start  event.Turn  // zero for calls of a prompt
	end    *event.Turn // nil for a turn that did not end
	calls  int         // completed, denied or failed
	denied int
	called []event.Call // those that were completed or denied
}

// Emit adds an event. It always returns nil.
func (p *Past) Emit(e event.Event) error {
	switch {
	case e.Type == event.RunStarted && e.Run != nil:
		if p.Run == nil {
			p.Run = e.Run
			p.startFork()
		} else {
			p.Elapsed += p.Last.Time.Sub(p.started)
			p.repeatCalls()
			for _, j := range p.jobs {
				j.published.pull.begun, j.published.comment.begun = false, false
			}
		}
		p.started, p.Ended, p.ending = e.Time, false, nil
	case e.Type == event.RunEnded:
		p.Ended, p.endedOnce, p.ending = true, true, e.RunEnd
	case e.Job != "":
		p.job(e.Job).clock.count(e.Time, p.started)
		p.job(e.Job).add(e)
	}
	p.Last = event.Event{Seq: e.Seq, Time: e.Time}
	return nil
}

// repeatCalls forgets the calls of turns that did not end: a process that resumes the run
// repeats them.
func (p *Past) repeatCalls() {
	for _, j := range p.jobs {
		for _, s := range j.sessions {
			for number, t := range s.turns {
				if t.end == nil {
					t.calls, t.denied, t.called = 0, 0, nil
					s.turns[number] = t
				}
			}
		}
	}
}

// close completes the sums after the last event.
func (p *Past) close() {
	p.Elapsed += p.Last.Time.Sub(p.started)
	p.started = p.Last.Time
}

func (p *Past) job(id string) *pastJob {
	if p.jobs == nil {
		p.jobs = map[string]*pastJob{}
	}
	j := p.jobs[id]
	if j == nil {
		j = &pastJob{baseline: map[string]event.Baseline{}, sessions: map[string]*pastSession{}}
		p.jobs[id] = j
	}
	return j
}

// of returns what was done of a job; nil for nothing, and without a past.
func (p *Past) of(id string) *pastJob {
	if p == nil {
		return nil
	}
	return p.jobs[id]
}

// count adds the time since the previous event of the job in this process.
func (c *pastClock) count(now, process time.Time) {
	if c.process.Equal(process) {
		c.elapsed += now.Sub(c.last)
	}
	c.process, c.last = process, now
}

func (j *pastJob) add(e event.Event) {
	switch {
	case e.JobStart != nil:
		if j.start == nil {
			j.first = e.JobStart.Base
		}
		if e.JobStart.Onto != "" && !j.continues(e.JobStart) {
			j.rebased = j.lastTurn()
		}
		j.start, j.end = e.JobStart, nil
	case e.JobEnd != nil:
		j.end, j.replacing, j.attemptsBefore = e.JobEnd, "", j.attempts
		j.published.end(e.JobEnd.Code)
	case e.Attempt != nil:
		if c := j.commit; c != nil && j.start != nil && (c.Hash == j.start.Base || c.Hash == j.start.Onto) {
			j.replacing = c.Hash
		}
		j.attempts, j.prompt, j.comment = e.Attempt.Number, e.Attempt.Prompt, nil // it has another message
	case e.Left != nil:
		j.left = append(j.left, *e.Left)
	case e.Baseline != nil:
		j.baseline[e.Baseline.Name] = *e.Baseline
	case e.Type == event.Committed && e.Commit != nil:
		j.commit = e.Commit
		j.own(e.Commit.Hash)
	case e.Published != nil:
		j.own(e.Published.Hash)
		j.published.add(e.Type, e.Published)
	case e.Comment != nil:
		j.published.comment.add(e.Comment.URL, e.Comment.Created)
		if e.Type == event.CommentPosted {
			j.comment = e.Comment
		}
	case e.Turn != nil:
		j.session(e.Session).addTurn(e, j.base())
		if e.Type == event.TurnStarted {
			j.reverted = nil // it has continued
		}
	case e.Type == event.Reverted:
		j.reverted = e.Revert
	case e.Type == event.SessionEnded && e.SessionInfo != nil && e.SessionInfo.Parent == "":
		j.final = e.SessionInfo.FinalText
	case e.Call != nil:
		j.session(e.Session).addCall(e.Call)
	}
}

func (p *pastPublished) add(t event.Type, e *event.Published) {
	switch pr := e.PullRequest; {
	case pr != nil:
		p.pull.add(pr.URL, pr.Created)
	case t == event.PullRequestStarted:
		p.pull.add("", false)
	}
	if t == event.CommitPublished {
		p.remote = e.Remote
	}
}

// end adds the end of the job: what could not be created is not the run's.
func (p *pastPublished) end(c event.Code) {
	if c == event.CodePull && p.pull.begun {
		p.pull.Unsure = false
	}
	if c == event.CodeComment && p.comment.begun {
		p.comment.Unsure = false
	}
}

// add adds what exists on the forge, and whether the run has created it; with an empty URL, what
// is about to be created.
func (c *creation) add(url string, created bool) {
	c.begun, c.Unsure = url == "", url == ""
	if created {
		c.URL = url
	}
}

// continues reports whether a start continues a rebase that was killed.
func (j *pastJob) continues(s *event.JobStart) bool {
	return j.start != nil && j.end == nil && j.start.Onto == s.Onto && j.start.Base == s.Base
}

func (j *pastJob) session(id string) *pastSession {
	s := j.sessions[id]
	if s == nil {
		s = &pastSession{turns: map[int]pastTurn{}}
		j.sessions[id] = s
	}
	return s
}

func (s *pastSession) addTurn(e event.Event, base string) {
	t := s.turns[e.Turn.Number]
	t.base = base
	if e.Type == event.TurnStarted {
		t.start = *e.Turn
	} else {
		t.end = e.Turn
	}
	s.turns[e.Turn.Number] = t
}

func (s *pastSession) addCall(c *event.Call) {
	if c.Status == event.CallPending || c.Status == event.CallRunning {
		return
	}
	t := s.turns[c.Turn]
	t.calls++
	if c.Status == event.CallDenied {
		t.denied++
	}
	if c.Status != event.CallError {
		t.called = append(t.called, event.Call{Tool: c.Tool, Status: c.Status, Decision: c.Decision})
	}
	s.turns[c.Turn] = t
}

// called returns the calls of all sessions that were completed or denied; those of a session are in their order.
func (j *pastJob) called() (all []event.Call) {
	for _, id := range slices.Sorted(maps.Keys(j.sessions)) {
		turns := j.sessions[id].turns
		for _, number := range slices.Sorted(maps.Keys(turns)) {
			all = append(all, turns[number].called...)
		}
	}
	return all
}

// totals returns the sums of the turns that ended, and the number of the last one. Calls of
// a turn that did not end are repeated.
func (s *pastSession) totals() (sum event.Totals, ended int) {
	sum.CostUSD, ended = new(money.USD), s.copied
	for number, t := range s.turns {
		sum.Turns = max(sum.Turns, number-s.copied)
		if t.end == nil {
			continue
		}
		ended = max(ended, number)
		sum.Calls, sum.Denied = sum.Calls+t.calls, sum.Denied+t.denied
		if number == 0 {
			continue
		}
		if t.end.Usage != nil {
			sum.Usage = sum.Usage.Add(*t.end.Usage)
		}
		sum.CostUSD = money.Sum(sum.CostUSD, t.end.CostUSD)
	}
	return sum, ended
}

// lost returns the turns whose responses were lost in a kill: those that did not end, except
// the one of a response that was saved (0 for none).
func (s *pastSession) lost(saved int) (numbers []int) {
	for _, number := range slices.Sorted(maps.Keys(s.turns)) {
		if number > 0 && number != saved && s.turns[number].end == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// spent is the most that the job has cost: a turn that did not end as much as was reserved
// for it.
func (j *pastJob) spent() (sum money.USD) {
	for _, s := range j.sessions {
		for _, t := range s.turns {
			switch {
			case t.end != nil && t.end.CostUSD != nil:
				sum = sum.Add(*t.end.CostUSD)
			case t.end == nil && t.start.Reserved != nil:
				sum = sum.Add(*t.start.Reserved)
			case t.end == nil && t.start.Request != nil && t.start.Request.CostUSD != nil:
				sum = sum.Add(*t.start.Request.CostUSD)
			}
		}
	}
	return sum
}

// Spent is the most that the run has cost; 0 without a past.
func (p *Past) Spent() (sum money.USD) {
	if p == nil {
		return 0
	}
	for _, j := range p.jobs {
		sum = sum.Add(j.spent())
	}
	return sum
}

// hasCommented reports whether the job's final message was posted. One that was continued or
// started again since then has another one.
func (j *pastJob) hasCommented() bool {
	return j != nil && j.comment != nil && !j.fresh && j.followUp == ""
}

// followsUp reports whether the job gets another prompt after its end.
func (j *pastJob) followsUp() bool { return j != nil && (j.followUp != "" || j.replacing != "") }

// changes reports whether the job adds to a commit of its own, or replaces it: it gets another
// prompt, or was killed while it worked on one.
func (j *pastJob) changes(commit string) bool {
	return j != nil && commit != "" && (j.followUp != "" || j.replacing == commit)
}

func (j *pastJob) own(hash string) {
	if j.hashes == nil {
		j.hashes = map[string]bool{}
	}
	j.hashes[hash] = true
}

// lastTurn returns the number of the last turn of any session.
func (j *pastJob) lastTurn() (last int) {
	for _, s := range j.sessions {
		for number := range s.turns {
			last = max(last, number)
		}
	}
	return last
}

// nextPrompt returns the prompt that continues the job's session, or has continued it in a
// fork; "" for none.
func (j *pastJob) nextPrompt() string {
	switch {
	case j == nil:
		return ""
	case j.followUp == "" && j.fork != nil:
		return j.fork.Prompt
	}
	return j.followUp
}

// base returns the commit that the job started from; "" if it is unknown.
func (j *pastJob) base() string {
	switch {
	case j == nil:
		return ""
	case j.start != nil:
		return j.start.Base
	case j.fork != nil:
		return j.fork.Base
	}
	return ""
}

// time is how long the job has run.
func (j *pastJob) time() time.Duration {
	if j == nil {
		return 0
	}
	return j.clock.elapsed
}

// finished returns the end of a job that is not run again; nil if it is.
func (j *pastJob) finished() *event.JobEnd {
	if j == nil || j.end == nil || j.fresh || j.followUp != "" || j.revert != nil || j.end.Resumable() {
		return nil
	}
	return j.end
}

// StartAgain makes the run start the jobs that did not pass again, instead of continuing
// them.
func (p *Past) StartAgain() {
	for _, j := range p.jobs {
		j.fresh = j.end == nil || j.end.Outcome != event.Passed && (j.end.Outcome != event.Skipped || j.end.Resumable())
	}
}

// Except makes the run leave out jobs, whose tasks have changed.
func (p *Past) Except(jobs []string) { p.except = jobs }

// leaves reports whether the run leaves out a job.
func (p *Past) leaves(job string) bool { return p != nil && slices.Contains(p.except, job) }

// Done reports whether a job is not run again.
func (p *Past) Done(job string) bool {
	return p.ended(job) != nil || p.leaves(job)
}

// ended returns the end of a job that is not run again; nil if it is.
func (p *Past) ended(job string) *event.JobEnd {
	if p == nil || p.only == "" || p.only == job {
		return p.of(job).finished()
	}
	if past := p.of(job); past != nil && past.end != nil {
		return past.end
	}
	return new(event.CodeNotRun.End("the run was killed before the job completed"))
}

// resumed describes the past for the start of the run; nil without one.
func (p *Past) resumed(jobs []tasks.Job) *event.Resumed {
	if p == nil || p.forking {
		return nil
	}
	before := &event.Resumed{CostUSD: p.Spent()}
	for _, j := range jobs {
		if p.ended(j.ID) != nil {
			before.Finished++
		}
	}
	return before
}

// FollowUp makes the run continue only one job, which has ended, with another prompt. A job whose
// changes a script has made gets its first session.
func (p *Past) FollowUp(job, prompt string) error {
	past := p.of(job)
	switch {
	case past == nil || past.end == nil || len(past.sessions) == 0 && past.commit == nil:
		return fmt.Errorf("job %s has no session that has ended: continue the run with millhand run --resume first", job)
	}
	past.followUp, p.only = prompt, job
	return nil
}

// Quiet leaves the descriptions of pull requests as they are.
func (p *Past) Quiet() {
	for _, j := range p.jobs {
		j.quiet = true
	}
}
