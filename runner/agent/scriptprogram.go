package agent

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/runner/jsprogram"
	"github.com/millhand/millhand/tasks"
)

// scriptProgram is the one of a run whose tool files and plugins are all beside the manifest. It is
// made before the first agent starts, because agents can change the files.
type scriptProgram struct {
	once sync.Once
	made *jsprogram.Program
	err  error
}

// compiled returns the program of the run.
func (r *Run) compiled() (*jsprogram.Program, error) {
	own := &r.program
	own.once.Do(func() {
		own.made, own.err = jsprogram.Compile(r.sites.Plan.Scripts, "", nil, filepath.Join(r.opts.Work, "js"))
	})
	return own.made, own.err
}

// CompileEarly compiles the program of the run while its first jobs are prepared, unless what
// runs before the first agent could install what files import. The caller calls the returned function,
// which waits.
func (r *Run) CompileEarly() (wait func()) {
	var group sync.WaitGroup
	installs := func(j tasks.Job) bool { return len(j.Setup) > 0 }
	atStart := func(h tasks.Hook) bool { return h.On == tasks.JobStart }
	plan := r.sites.Plan
	if s := plan.Scripts; s.Used() && !s.OfWorkspace() && !slices.ContainsFunc(plan.Hooks, atStart) && !slices.ContainsFunc(plan.Jobs, installs) {
		group.Go(func() { r.compiled() }) //nolint:errcheck // jobs get the error
	}
	return group.Wait
}

// launchScripts returns what starts the tool files and plugins of the job; nil if it has none. fail ends
// its sessions.
func (x *extensions) launchScripts(ctx context.Context, fail context.CancelCauseFunc) (*extension.Scripts, error) {
	j, s := x.job, x.job.Plan.Scripts
	if !s.Used() {
		return nil, nil
	}
	p, err := x.program(s)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Absent {
		j.Warn(text)
	}
	g, err := x.site.Ground(x.job.AgentProfile())
	if err != nil {
		return nil, err
	}
	g.Within, g.Tools, g.Tell = x.site.Sandboxes.Own, nil, j.Reaching(g.Tell)
	scripts := p.Config(ctx, &x.processes, s, g, x.site.Tree.Root(), j.opts.Work, j.Spec.ID+"@js")
	scripts.Fail = func(err error) { fail(event.EndCause{Code: event.CodeExtension, Reason: err.Error()}) }
	scripts.Load.Settings = jsprogram.Settings(j.Plan, g.Profile, j.Spec.ModelName, j.Spec.Agent)
	return scripts, nil
}

// program compiles the tool files and plugins: once in a run, or for the job's repository.
func (x *extensions) program(s tasks.Scripts) (*jsprogram.Program, error) {
	j := x.job
	if !s.OfWorkspace() {
		return j.run.compiled()
	}
	base := cmp.Or(j.Start.Target, x.site.Base)
	return jsprogram.Compile(s, x.site.Tree.Root(), func(name string) ([]byte, error) { return x.site.Tree.File(base, name) }, filepath.Join(j.opts.Work, "js@"+j.Spec.ID))
}
