package delivery

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// unpermitted returns the stop of a job whose files changed although its profile allows no changes and no
// program was granted any: only level A prevents all of them. B doesn't prevent changes of modes, and before
// Linux 6.2 truncation.
func (d *Delivery) unpermitted(changes *state.ChangeSet) *ending.Stop {
	j := d.Job
	if d.Options.Level == sandbox.Full || d.mayChange() || !d.startsPrograms() {
		return nil
	}
	var files []string
	states := changes.States()
	for _, c := range changes.Changes {
		if !d.Site.Diff.Has(c.Path, states[c.Path]) {
			files = append(files, c.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return &ending.Stop{Code: event.CodeProtected, Detail: fmt.Sprintf("files were changed while the job ran (%s), but the profile %s allows no changes: at sandbox level %s a tool, hook or server can write (fix: sandbox level A, or another profile)", textcut.List(files), j.Spec.Profile.Name, d.Options.Level)}
}

// mayChange reports whether the job may change files: its agents, its script, a program that the manifest grants
// it, or an earlier run whose changes it continues.
func (d *Delivery) mayChange() bool {
	j := d.Job
	p := d.Profile
	return p.MayChange() || j.Spec.Script != nil || j.Start.Onto.Commit != "" || j.History.Inherits() ||
		slices.ContainsFunc(j.Plan.Grants(), func(g tasks.Grant) bool {
			return g.Workspace && confinement.MayGrant(p) || slices.ContainsFunc(g.Dirs, func(dir string) bool { return confinement.Overlap(dir, d.Site.Dir) })
		})
}

// startsPrograms reports whether anything but setup and verify commands runs programs in the job.
func (d *Delivery) startsPrograms() bool {
	j := d.Job
	return j.Plan.StartsProcesses() || len(j.Plan.Tools) > 0 || !j.Spec.Profile.Hides("bash")
}

// forgotten warns of a job whose profile was probably forgotten, because nothing was changed. A task that asks for changes
// fails.
func (d *Delivery) forgotten() *ending.Stop {
	switch {
	case d.Advice == "":
		return nil
	case d.Job.Spec.Changing:
		return &ending.Stop{Code: event.CodeProfile, Detail: "nothing was changed: " + d.Advice}
	}
	d.Job.Warn(d.Advice)
	return nil
}
