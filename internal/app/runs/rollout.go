package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/rollout"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// AfterField is the option that names runs of earlier waves.
func AfterField(to *[]string, usage string) option.Field {
	return option.Field{Name: "after", Group: option.Tasks, To: (*option.Texts)(to), Default: "those in .millhand/runs and --report-dir", Usage: usage}
}

// savedWaves are the saved runs of a rollout, the oldest first.
type savedWaves struct {
	name string          // of the rollout
	seen map[string]bool // ids of runs that are not added again
	runs []rundir.Saved

	named map[string]bool // directories of runs that the command line names
	mine  map[string]bool // directories of runs that were found without --after
}

// OnlyNamed removes the runs that the command line does not name.
func (s *savedWaves) OnlyNamed() {
	s.runs = slices.DeleteFunc(s.runs, func(r rundir.Saved) bool { return !s.named[r.Dir] })
}

// FindWaves returns the saved runs of the rollout with a name: those in the default
// directory, those in the report directory of the run, and those that are named, relative to dir.
// except is the id of a run that is left out.
func FindWaves(w world.World, dir, name, reportDir string, after []string, except string) (*savedWaves, error) {
	all := &savedWaves{name: name, seen: map[string]bool{except: true}, named: map[string]bool{}, mine: map[string]bool{}}
	dirs := []string{filepath.Join(".millhand", "runs")}
	if reportDir != "" {
		dirs = append(dirs, reportDir)
	}
	for _, runs := range dirs {
		if err := all.add(w, form.ResolvePath(dir, runs), ""); err != nil && !errors.Is(err, os.ErrNotExist) {
			return all, fmt.Errorf("read the earlier waves in %s: %w", runs, err)
		}
	}
	for _, s := range all.runs {
		all.mine[s.Dir] = true
	}
	for _, run := range after {
		at, named := form.ResolvePath(dir, run), ""
		if found, err := savedrun.FindIn(dir, run); err == nil {
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
// whatever it is.
func (s *savedWaves) add(w world.World, dir, named string) error {
	list, err := rundir.List(dir, w.Now())
	if err != nil {
		return err
	}
	for _, run := range list {
		if run.Outcome == rundir.Damaged || s.seen[run.ID] {
			continue
		}
		started, err := firstRun(run.Dir)
		if err != nil {
			return err
		}
		if started == nil || run.Dir != named && (started.Rollout == nil || started.Rollout.Name != s.name) {
			continue
		}
		s.seen[run.ID] = true
		s.runs = append(s.runs, run)
	}
	return nil
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
func (s *savedWaves) history() (*rollout.History, error) {
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
func (s *savedWaves) unfinished(plan *tasks.Plan) (dir string, err error) {
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

// nextWave reduces a plan with a rollout to the jobs of its next run. again is the directory
// of a run to be continued instead; "" for none.
func nextWave(ctx context.Context, w world.World, o Options, c *Checked) (again string, err error) {
	if c.Plan.Rollout == nil {
		if len(o.After) > 0 {
			return "", fault.New(event.ExitUsage, "--after requires a manifest with the key rollout")
		}
		return "", nil
	}
	waves, err := FindWaves(w, o.Plan.In(w), c.Plan.Name, o.ReportDir, o.After, "")
	if err == nil {
		again, err = waves.unfinished(c.Plan)
	}
	if err != nil {
		return "", fault.New(event.ExitUsage, "%w; nothing was run", err)
	}
	if again != "" {
		return again, nil
	}
	c.rollout, err = OpenRollout(ctx, w, c.Plan, waves, true)
	if err != nil {
		return "", err
	}
	*c = c.With(c.Plan.Wave(c.rollout.Selects))
	return "", nil
}

// SameWave reduces a plan to the jobs of a run of a rollout that is resumed. With ask, the forge is
// asked for pull requests.
func SameWave(ctx context.Context, w world.World, o Options, c *Checked, run *event.Run, ask bool) error {
	if run.Rollout == nil {
		return nil
	}
	waves, err := FindWaves(w, o.Plan.In(w), run.Rollout.Name, o.ReportDir, o.After, run.ID)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	r, err := OpenRollout(ctx, w, c.Plan, waves, ask)
	if err != nil {
		return err
	}
	r.Resume(run.Jobs)
	*c = c.With(c.Plan.Wave(r.Selects))
	if c.Plan.Rollout != nil { // it may have been removed
		c.rollout = r
	}
	return nil
}

// OpenRollout returns the rollout of a plan, given its saved runs. With ask, the forge is
// asked for pull requests.
func OpenRollout(ctx context.Context, w world.World, plan *tasks.Plan, waves *savedWaves, ask bool) (*rollout.Rollout, error) {
	h, err := waves.history()
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
	return rollout.New(plan, h, w.Now), nil
}

// again returns the options that resume a run of a rollout, with the flags of this invocation
// that a resumed run accepts.
func again(w world.World, o Options, dir string) Options {
	plain := *New()
	plain.Resume, plain.Log, plain.JSON, plain.Verbose = dir, o.Log, o.JSON, o.Verbose
	plain.Plan.Dir, plain.Plan.Manifests = o.Plan.Dir, o.Plan.Manifests
	plain.Plan.Parallel, plain.Plan.MaxCost = o.Plan.Parallel, o.Plan.MaxCost
	if !o.Log.Quiet {
		fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("continuing run %s of the rollout, which was killed or interrupted", filepath.Base(dir))))
	}
	return plain
}
