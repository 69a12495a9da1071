package history

import (
	"maps"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// Facts is what earlier processes did of a job.
type Facts struct {
	Fork      *event.Fork // of a run that was forked from another; nil for other runs
	Start     *event.JobStart
	First     string        // commit that the job started from in the first process
	End       *event.JobEnd // nil for a job that did not end
	Reverted  *event.Revert // nil unless the session is to continue from an earlier turn
	Attempts  int
	Prompt    string // of the last attempt
	Followed  string // the follow-up prompt of the last attempts, which can have others
	Baseline  map[string]event.Baseline
	Commit    *event.Commit
	Comment   *event.Comment       // that was posted; nil for none
	Requested []event.ForgeRequest // that were made, of all messages of the job
	Published Published
	Sessions  map[string]*Session
	Left      []event.Left           // in the order of their events
	Trials    map[string]event.Trial // by key
	Hunks     *event.Hunks           // of the last attempt with ablate; nil for none
	Final     string                 // the last message of the job's own session
	Untrusted *event.Event           // that the job has read first; nil for nothing
	Watched   *event.Watched         // by all processes of its conversation; nil if one did not note what it read
	Escalated []event.Escalation     // since the job was started with its first attempt
	Reviews   []event.Review         // of the changes, in the order of their events

	Replacing      string          // commit of the job that a follow-up prompt is changing, which was killed; "" for none
	hashes         map[string]bool // commits that the run has made or pushed for the job
	AttemptsBefore int             // when the job ended
	spent          money.USD       // see settle
	Rebased        int             // last turn when the job was rebased; its saved states have another base
	clock          clock
}

// clock measures the time of a job in several processes.
type clock struct {
	elapsed       time.Duration // between its events
	process, last time.Time
}

// Published is what earlier processes published of a job.
type Published struct {
	Remote        string // that the last commit was pushed to; "" for none
	Pull, Comment Creation
}

// Earlier is what exists on the forge, as far as earlier processes knew.
type Earlier struct {
	URL    string // that they created; "" for none
	Unsure bool   // the last process ended before it knew whether it had created one
}

// Creation is what earlier processes created on the forge.
type Creation struct {
	Earlier
	begun bool // by the last process
}

// count adds the time since the previous event of the job in this process.
func (c *clock) count(now, process time.Time) {
	if c.process.Equal(process) {
		c.elapsed += now.Sub(c.last)
	}
	c.process, c.last = process, now
}

// Add adds an event of the job.
func (j *Facts) Add(e event.Event) {
	if add, ok := facts.Find(&e); ok {
		add(j, e)
	}
}

var facts = event.Walk[func(*Facts, event.Event)]{
	On: map[event.Type]func(*Facts, event.Event){
		event.JobStarted:         (*Facts).started,
		event.BaselineEnded:      func(j *Facts, e event.Event) { j.Baseline[e.Baseline.Name] = *e.Baseline },
		event.AttemptStarted:     (*Facts).attempted,
		event.TurnStarted:        (*Facts).turned,
		event.CallUpdated:        func(j *Facts, e event.Event) { j.session(e.Session).addCall(e.Call) },
		event.TurnEnded:          (*Facts).turned,
		event.SessionEnded:       (*Facts).finished,
		event.AblationEnded:      func(j *Facts, e event.Event) { j.Hunks = e.Hunks },
		event.TrialEnded:         (*Facts).tried,
		event.ModelEscalated:     func(j *Facts, e event.Event) { j.Escalated = append(j.Escalated, *e.Escalation) },
		event.ReviewEnded:        func(j *Facts, e event.Event) { j.Reviews = append(j.Reviews, *e.Review) },
		event.FilesLeft:          func(j *Facts, e event.Event) { j.Left = append(j.Left, *e.Left) },
		event.Committed:          (*Facts).committed,
		event.PublishStarted:     (*Facts).published,
		event.CommitPublished:    (*Facts).published,
		event.PullRequestStarted: (*Facts).published,
		event.CommentStarted:     (*Facts).commented,
		event.CommentPosted:      (*Facts).commented,
		event.ForgeRequestEnded:  (*Facts).requested,
		event.JobEnded:           (*Facts).ended,
		event.Reverted:           func(j *Facts, e event.Event) { j.Reverted = e.Revert },
		event.UntrustedRead:      func(j *Facts, e event.Event) { j.Untrusted = &e },
	},
	Ignores: []event.Type{
		event.RunStarted, event.RunEnded, // see Past
		event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.ScriptEnded, event.SessionStarted, event.ModelText,
		event.RequestRetried, event.Pruned, event.Compacted, event.VerifyEnded, event.ChangesFound, event.CommitStarted, event.ForgeRequestStarted, event.NetworkRequested,
		event.ExtensionChanged, event.RevertStarted, event.WarningIssued, event.Sealed,
		event.AblationStarted,
	},
}

func (j *Facts) started(e event.Event) {
	if j.Start == nil {
		j.First = e.JobStart.Base
	}
	if e.JobStart.Onto != "" && !j.continues(e.JobStart) {
		j.Rebased = j.LastTurn()
	}
	watched := e.JobStart.Watched
	if j.Start != nil || j.Fork != nil {
		watched = both(j.watched(), watched)
	}
	j.Watched = watched
	j.Start, j.End = e.JobStart, nil
}

// watched is Watched before this process.
func (j *Facts) watched() *event.Watched {
	if j.Start == nil && j.Fork != nil {
		return j.Fork.Watched
	}
	return j.Watched
}

// both returns what two processes have watched.
func both(a, b *event.Watched) *event.Watched {
	if a == nil || b == nil {
		return nil
	}
	return &event.Watched{Files: slices.DeleteFunc(slices.Clone(a.Files), func(glob string) bool { return !slices.Contains(b.Files, glob) })}
}

// Unwatched reports whether the job's conversation may have read untrusted files, given by globs, or other untrusted content, without
// that a process noted it.
func (j *Facts) Unwatched(globs []string) bool {
	if j.Fork == nil && j.LastTurn() == 0 {
		return false
	}
	w := j.watched()
	return w == nil || slices.ContainsFunc(globs, func(glob string) bool { return !slices.Contains(w.Files, glob) })
}

func (j *Facts) ended(e event.Event) {
	j.End, j.Replacing, j.AttemptsBefore = e.JobEnd, "", j.Attempts
	j.Published.end(e.JobEnd.Code)
}

func (j *Facts) tried(e event.Event) {
	if j.Trials == nil {
		j.Trials = map[string]event.Trial{}
	}
	j.Trials[e.Trial.Key] = *e.Trial
}

func (j *Facts) attempted(e event.Event) {
	if c := j.Commit; c != nil && j.Start != nil && (c.Hash == j.Start.Base || c.Hash == j.Start.Onto) {
		j.Replacing = c.Hash
		if e.Attempt.Number == j.AttemptsBefore+1 {
			j.Followed = e.Attempt.Prompt
		}
	}
	if e.Attempt.Number == 1 {
		j.Escalated = nil
		if j.Fork == nil && j.Start != nil { // in a new conversation
			j.Watched = j.Start.Watched
		}
	}
	j.Attempts, j.Prompt, j.Comment = e.Attempt.Number, e.Attempt.Prompt, nil // it has another message
	j.Hunks = nil
}

func (j *Facts) committed(e event.Event) {
	j.Commit = e.Commit
	j.own(e.Commit.Hash)
}

func (j *Facts) published(e event.Event) {
	j.own(e.Published.Hash)
	j.Published.add(e.Type, e.Published)
}

func (j *Facts) commented(e event.Event) {
	j.Published.Comment.add(e.Comment.URL, e.Comment.Created)
	if e.Type == event.CommentPosted {
		j.Comment = e.Comment
	}
}

func (j *Facts) requested(e event.Event) {
	if e.ForgeRequest.Outcome == event.RequestDone {
		j.Requested = append(j.Requested, *e.ForgeRequest)
	}
}

func (j *Facts) turned(e event.Event) {
	j.session(e.Session).addTurn(e, j.Base(), len(j.Escalated))
	if e.Type == event.TurnStarted {
		j.Reverted = nil // it has continued
	}
}

func (j *Facts) finished(e event.Event) {
	if e.SessionInfo.Parent == "" {
		j.Final = e.SessionInfo.FinalText
	}
}

func (j *Facts) session(id string) *Session {
	s := j.Sessions[id]
	if s == nil {
		s = &Session{turns: map[int]turn{}}
		j.Sessions[id] = s
	}
	return s
}

func (p *Published) add(t event.Type, e *event.Published) {
	switch pr := e.PullRequest; {
	case pr != nil:
		p.Pull.add(pr.URL, pr.Created)
	case t == event.PullRequestStarted:
		p.Pull.add("", false)
	}
	if t == event.CommitPublished {
		p.Remote = e.Remote
	}
}

// end adds the end of the job: what could not be created is not the run's.
func (p *Published) end(c event.Code) {
	if c == event.CodePull && p.Pull.begun {
		p.Pull.Unsure = false
	}
	if c == event.CodeComment && p.Comment.begun {
		p.Comment.Unsure = false
	}
}

// add adds what exists on the forge, and whether the run has created it; with an empty URL, what
// is about to be created.
func (c *Creation) add(url string, created bool) {
	c.begun, c.Unsure = url == "", url == ""
	if created {
		c.URL = url
	}
}

// continues reports whether a start continues a rebase that was killed.
func (j *Facts) continues(s *event.JobStart) bool {
	return j.Start != nil && j.End == nil && j.Start.Onto == s.Onto && j.Start.Base == s.Base
}

// Called returns the calls of all sessions that were completed or denied; those of a session are in their order.
func (j *Facts) Called() (all []event.Call) {
	for _, id := range slices.Sorted(maps.Keys(j.Sessions)) {
		turns := j.Sessions[id].turns
		for _, number := range slices.Sorted(maps.Keys(turns)) {
			all = append(all, turns[number].called...)
		}
	}
	return all
}

// Spent is the most that the job has cost: a turn with an unknown cost as much as was reserved
// for it.
func (j *Facts) Spent() money.USD {
	sum := j.spent
	for _, s := range j.Sessions {
		for _, t := range s.turns {
			sum = sum.Add(event.AtMost(t.start, t.end))
		}
	}
	return sum
}

// CostByModel returns what each model has cost that the job has escalated from and to, with subagents and without reviewers.
func (j *Facts) CostByModel() []money.Total {
	costs := make([]money.Total, len(j.Escalated)+1)
	for id, s := range j.Sessions {
		if event.IsReview(id) {
			continue
		}
		for number, t := range s.turns {
			if number > 0 && t.end != nil && t.stage < len(costs) {
				costs[t.stage].Add(t.end.CostUSD, 0)
			}
		}
	}
	return costs
}

// settle forgets what only a process that continues the job needs, which is most of its memory. Other jobs can start on the files
// of one that has read untrusted content.
func (j *Facts) settle() {
	rest := Facts{End: j.End, Attempts: j.Attempts, hashes: j.hashes, clock: j.clock, spent: j.Spent(), Untrusted: j.Untrusted}
	if j.Untrusted != nil {
		rest.Start = j.Start
	}
	*j = rest
}

func (j *Facts) own(hash string) {
	if j.hashes == nil {
		j.hashes = map[string]bool{}
	}
	j.hashes[hash] = true
}

// LastTurn returns the number of the last turn of any session.
func (j *Facts) LastTurn() (last int) {
	for _, s := range j.Sessions {
		last = max(last, s.Last())
	}
	return last
}

// Base returns the commit that the job started from; "" if it is unknown.
func (j *Facts) Base() string {
	switch {
	case j != nil && j.Start != nil:
		return j.Start.Base
	case j != nil && j.Fork != nil:
		return j.Fork.Base
	}
	return ""
}

// Time is how long the job has run.
func (j *Facts) Time() time.Duration {
	if j == nil {
		return 0
	}
	return j.clock.elapsed
}

// Children returns the number of the job's subagents.
func (j *Facts) Children() int {
	n := max(len(j.Sessions)-1, 0)
	if j.Fork != nil {
		n += j.Fork.Children
	}
	return n
}

// BaseAt returns the commit that the job had started from in a turn of a session: a
// follow-up prompt starts from the commit before it.
func (j *Facts) BaseAt(session string, turn int) string {
	s := j.Sessions[session]
	for n := turn; s != nil && n > 0; n-- {
		if t, found := s.turns[n]; found && t.base != "" {
			return t.base
		}
	}
	if j.Fork != nil {
		return j.Fork.Base
	}
	return j.First
}

// AllLeft returns what others than the agent have left, in the order of their events.
func (j *Facts) AllLeft() []event.Left {
	if j.Fork == nil {
		return j.Left
	}
	return slices.Concat(j.Fork.Left, j.Left)
}

// FirstTree returns the saved state of the workspace that the job has started from; "" for that
// of its base.
func (j *Facts) FirstTree() string {
	switch {
	case j != nil && j.Fork != nil && j.Fork.Tree != "":
		return j.Fork.Tree
	case j != nil && j.Start != nil:
		return j.Start.Tree // without a worktree
	}
	return ""
}

// UntrustedUntil returns what the job had read first of what others have written, up to a turn of its own session; nil for nothing.
func (j *Facts) UntrustedUntil(session string, turn int) *event.Untrusted {
	switch e := j.Untrusted; {
	case e != nil && (e.Session != session || e.Untrusted.Turn <= turn):
		return e.Untrusted
	case j.Fork != nil:
		return j.Fork.Untrusted
	}
	return nil
}
