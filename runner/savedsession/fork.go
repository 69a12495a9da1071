package savedsession

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// Fork is a run that starts as the fork of another one: one of its jobs continues from a
// message of its session, on another branch and with a budget of its own.
type Fork struct {
	from    event.Fork
	named   bool            // the branch was given
	entries []journal.Entry // the conversation
	store   string          // directory of the saved states
}

// Request is what to fork.
type Request struct {
	Dir     string // report directory of the other run
	Job     string
	Message string // "" lists the messages in the error
	Prompt  string // that continues the conversation; "" for that of the message, or for none
	Branch  string // "" for one that is not used
}

// NewFork finds the message in the session of a job. past is what the other run did. It
// changes nothing.
func NewFork(past *history.Past, q Request) (*Fork, error) {
	was := past.Job(q.Job)
	if was == nil || len(was.Sessions) == 0 || was.Start == nil && was.Fork == nil {
		return nil, fmt.Errorf("job %s has no session", q.Job)
	}
	state, err := readJournal(q.Dir, q.Job)
	if err != nil {
		return nil, err
	}
	point, err := state.Point(q.Message)
	if err != nil {
		return nil, fmt.Errorf("%w: use one of %s (millhand session show %s %s prints them)", err, listed(state.MessageIDs()), past.Run.ID, q.Job)
	}
	f := &Fork{named: q.Branch != "", store: filepath.Join(q.Dir, filepath.FromSlash(States)), from: event.Fork{
		Run: past.Run.ID, Dir: q.Dir, Job: q.Job, Message: q.Message, After: point.After, Turn: point.Turn, Tree: point.Tree,
		Base: was.BaseAt(past.Run.ID+"/"+q.Job, point.Turn), Prompt: q.Prompt, Branch: q.Branch, Children: was.Children(), Left: was.AllLeft(),
	}}
	switch {
	case f.from.Base == "":
		return nil, fmt.Errorf("job %s started in a repository without a commit, so it can't be forked", q.Job)
	case point.After == "": // the job's own prompt, unless there is another
	case point.Prompt == "" && q.Prompt == "" && point.Done:
		return nil, fmt.Errorf("message %s ends the conversation: continue it with --prompt PROMPT", q.Message)
	default:
		f.from.Prompt = cmp.Or(q.Prompt, point.Prompt)
		f.entries, f.from.Model = point.State.History, point.State.Session.Model
	}
	f.from.Tree, f.from.Untrusted, f.from.Watched = cmp.Or(f.from.Tree, was.FirstTree()), was.UntrustedUntil(past.Run.ID+"/"+q.Job, point.Turn), was.Watched
	return f, nil
}

// Again returns the fork that a saved run is, which starts once more from the conversation that the run has copied. Its branch is
// used for nothing else.
func Again(past *history.Past, dir, branch string) (*Fork, error) {
	from := *past.ForkedFrom()
	from.Branch = branch
	f := &Fork{from: from, named: true, store: filepath.Join(dir, filepath.FromSlash(States))}
	if from.After == "" {
		return f, nil
	}
	state, err := readJournal(dir, from.Job)
	if err != nil {
		return nil, err
	}
	at, err := state.At(from.After)
	if err != nil {
		return nil, err
	}
	f.entries = at.History
	return f, nil
}

// Job returns the id of the forked job.
func (f *Fork) Job() string { return f.from.Job }

// History returns the history of the new run: a conversation, and nothing that costs money.
func (f *Fork) History(run string) (history.Run, error) {
	past := &history.Past{}
	started := event.Event{Type: event.RunStarted, Run: &event.Run{ID: run, ForkedFrom: &f.from}}
	if err := past.Emit(started); err != nil {
		return history.Run{}, err
	}
	return history.Decide(past, history.Order{Do: history.Fork{From: &f.from}})
}

// Write writes the conversation and the saved states of its turns into the report directory of
// the new run.
func (f *Fork) Write(dir *files.Dir, run string, clean func(line []byte) []byte) (err error) {
	if err := dir.Mkdir(States); err != nil {
		return fmt.Errorf("copy the states of the session: %w", err)
	}
	var trees []string
	if f.from.Tree != "" {
		trees = append(trees, f.from.Tree)
	}
	for _, e := range f.entries {
		if e.Turn != nil && e.Turn.Tree != "" {
			trees = append(trees, e.Turn.Tree)
		}
	}
	if err := state.CopyStates(f.store, filepath.Join(dir.Path(), filepath.FromSlash(States)), trees); err != nil {
		return err
	}
	if len(f.entries) == 0 {
		return nil
	}
	file, err := dir.Append(Path(f.from.Job))
	if err != nil {
		return fmt.Errorf("copy the session: %w", err)
	}
	defer file.Close()
	to := journal.NewWriter(file, nil, clean, func(failed error) { err = fmt.Errorf("copy the session: %w", failed) })
	for _, e := range f.entries {
		if e.Session != nil {
			described := *e.Session
			described.ID = run + "/" + f.from.Job
			e.Session = &described
		}
		to.Entry(e)
	}
	if err == nil {
		err = file.Sync()
	}
	return err
}

// Narrow returns the plan of the other run with only the job of a fork, which works in a worktree and
// commits to its own branch. For other runs it returns the plan.
func Narrow(plan *tasks.Plan, past *history.Past) (*tasks.Plan, error) {
	from := past.ForkedFrom()
	if from == nil {
		return plan, nil
	}
	at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == from.Job })
	if at < 0 {
		return nil, fmt.Errorf("job %s is not in the plan any more: restore the manifest", from.Job)
	}
	j := plan.Jobs[at]
	if from.Branch == "" {
		from.Branch = forkBranch(j, 1)
	}
	return plan.Fork(j, from.Branch), nil
}

// forkBranch returns the name of a branch for the n-th fork of a job.
func forkBranch(j tasks.Job, n int) string {
	branch := "millhand/" + j.ID
	if j.Commit != nil && j.Commit.Branch != "" && j.Commit.Branch != tasks.CurrentBranch {
		branch = j.Commit.Branch
	}
	return branch + "-fork-" + strconv.Itoa(n)
}

// maxForks is the maximum number of forks of a branch that get a name without being asked.
const maxForks = 99

// NextBranch returns the plan of a starting fork with another branch if its preflight was refused
// because the branch exists; false if it can't.
func (f *Fork) NextBranch(plan *tasks.Plan, refused error) (next *tasks.Plan, ok bool) {
	if f == nil || f.named {
		return nil, false
	}
	exists := slices.ContainsFunc(preflight.Refusals(refused), func(r *preflight.Refusal) bool { return r.Code == event.CodeBranchExists })
	j := plan.Jobs[0]
	prefix, number, found := cutLast(j.Commit.Branch, "-fork-")
	n, err := strconv.Atoi(number)
	if !exists || !found || err != nil || n >= maxForks {
		return nil, false
	}
	f.from.Branch = prefix + "-fork-" + strconv.Itoa(n+1)
	return plan.Fork(j, f.from.Branch), true
}

// cutLast cuts a text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
