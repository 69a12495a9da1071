// Package waves finds the saved runs of a rollout and the pull requests of its jobs, and makes a [rollout.Rollout] of them:
// which jobs the next wave has. It finds the pull request of a job by its branch, also in a fork (package publish), and recognizes it
// by its commits (package landing); package pulls finds one that undoes it. It runs no job, and changes nothing on a forge.
// Commands get it as [world.Rollouts], which only their table sets: the program can be built without it.
package waves

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/waves/rollout"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/tasks"
)

// savedRuns are the saved runs of a rollout, the oldest first.
type savedRuns struct {
	name string          // of the rollout
	seen map[string]bool // ids of runs that are not added again
	runs []rundir.Saved

	named map[string]bool // directories of runs that the command line names
	mine  map[string]bool // directories of runs that were found without --after
}

// onlyNamed removes the runs that the command line does not name.
func (s *savedRuns) onlyNamed() {
	s.runs = slices.DeleteFunc(s.runs, func(r rundir.Saved) bool { return !s.named[r.Dir] })
}

// find returns the saved runs of the rollout with a name: those in the default
// directory, those in the report directory of the run, and those that are named.
// except is the id of a run that is left out.
func find(w world.World, in world.Earlier, name, except string) (*savedRuns, error) {
	all := &savedRuns{name: name, seen: map[string]bool{except: true}, named: map[string]bool{}, mine: map[string]bool{}}
	dirs := []string{filepath.Join(".millhand", "runs")}
	if in.Reports != "" {
		dirs = append(dirs, in.Reports)
	}
	for _, runs := range dirs {
		if err := all.add(w, userfile.Resolve(in.Dir, runs), ""); err != nil && !errors.Is(err, os.ErrNotExist) {
			return all, fmt.Errorf("read the earlier waves in %s: %w", runs, err)
		}
	}
	for _, s := range all.runs {
		all.mine[s.Dir] = true
	}
	for _, run := range in.After {
		at, named := userfile.Resolve(in.Dir, run), ""
		if found, err := savedrun.FindIn(in.Dir, run); err == nil {
			at, named = found, found
			all.named[found] = true
		}
		if err := all.add(w, at, named); err != nil {
			return all, fmt.Errorf("--after %s: %w", run, err)
		}
	}
	slices.SortStableFunc(all.runs, func(a, b rundir.Saved) int { return a.StartedAt.Compare(b.StartedAt) })
	return all, nil
}

// add adds the runs in a directory that are of the rollout, and the one that is named,
// whatever it is. One of these that can't be read is an error: what it did would be done again.
func (s *savedRuns) add(w world.World, dir, named string) error {
	list, err := rundir.List(dir, w.Now())
	if err != nil {
		return err
	}
	if named != "" && !slices.ContainsFunc(list, func(r rundir.Saved) bool { return r.Dir == named }) {
		return fmt.Errorf("run %s has no events there: continue it with millhand run --resume first", filepath.Base(named))
	}
	for _, run := range list {
		if s.seen[run.ID] {
			continue
		}
		damaged := run.Outcome == rundir.Damaged
		started, err := firstRun(run.Dir)
		switch {
		case damaged && (run.Dir == named || err == nil && s.has(started)):
			return fmt.Errorf("run %s is damaged: %s; remove or move %s if its jobs do not count", run.ID, run.Damage, run.Dir)
		case damaged: // of another rollout, or nobody knows
		case err != nil:
			return err
		case started == nil && run.Dir == named:
			return fmt.Errorf("run %s has no events", run.ID)
		case run.Dir == named || s.has(started):
			s.seen[run.ID] = true
			s.runs = append(s.runs, run)
		}
	}
	return nil
}

// has reports whether a run, nil if it has no events yet, is of the rollout.
func (s *savedRuns) has(run *event.Run) bool {
	return run != nil && run.Rollout != nil && run.Rollout.Name == s.name
}

// firstRun returns the first event of a saved run; nil if it has none yet.
func firstRun(dir string) (*event.Run, error) {
	var first *event.Run
	enough := errors.New("enough")
	err := readEvents(dir, func(e event.Event) error {
		first = e.Run
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return first, err
}

// readEvents reads the events of a saved run.
func readEvents(dir string, emit func(event.Event) error) error {
	f, err := rundir.OpenEvents(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = event.Read(f, emit)
	return err
}

// history reads what the runs did.
func (s *savedRuns) history() (*rollout.History, error) {
	h := &rollout.History{}
	for _, run := range s.runs {
		if err := readEvents(run.Dir, h.Add().Emit); err != nil {
			return nil, fmt.Errorf("read the earlier wave %s: %w", run.Dir, err)
		}
	}
	return h, nil
}

// unfinished returns the latest run if it can be continued: it was killed or interrupted, is
// of the same plan, and not a copy for --after. It is an error if a run is in progress.
func (s *savedRuns) unfinished(plan *tasks.Plan) (dir string, err error) {
	for _, run := range s.runs {
		if run.Outcome == rundir.Running && !run.Killed() {
			return "", fmt.Errorf("run %s of the rollout %s is in progress: try again when it has ended", run.ID, plan.Name)
		}
	}
	if len(s.runs) == 0 {
		return "", nil
	}
	last := s.runs[len(s.runs)-1]
	if s.mine[last.Dir] && (last.Outcome == rundir.Unfinished || last.Outcome == event.Cancelled || last.Killed()) && last.PlanHash == plan.Hash && rundir.Resumable(last.Dir) {
		return last.Dir, nil
	}
	return "", nil
}

// open returns the rollout of a plan, given its saved runs. With ask, the forge is
// asked for pull requests.
func open(ctx context.Context, w world.World, plan *tasks.Plan, saved *savedRuns, ask bool) (*rollout.Rollout, error) {
	h, err := saved.history()
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	if ask && plan.Rollout != nil && slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return j.Pull != nil }) {
		pulls, err := pullRequests(ctx, w, plan)
		if err != nil {
			return nil, err
		}
		h.Pulls(pulls)
	}
	return rollout.New(plan, h, w.Now, w.Forecast), nil
}
