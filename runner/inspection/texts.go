package inspection

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/runner/trials"
)

// Faults are what is wrong with changes.
type Faults struct {
	Ran   []commands.Ran // all verify commands
	Hunks *event.Hunks   // the account of the changes; nil without one

	failed   []commands.Ran
	barred   []permission.Decision
	over     []landing.Excess
	refused  []state.Refusal // paths that git would not commit
	marked   []string        // paths with conflict markers, of a job that is rebased
	unneeded bool            // hunks, which is a fault
}

// None reports whether nothing is wrong.
func (f Faults) None() bool {
	return len(f.failed)+len(f.barred)+len(f.over)+len(f.refused)+len(f.marked) == 0 && !f.unneeded
}

// Stop returns the stop of a job whose last attempt has faults; nil if only its commit fails.
func (o Of) Stop(f Faults, attempts int) *ending.Stop {
	switch {
	case len(f.barred) > 0:
		return landing.Protected(f.barred)
	case len(f.over) > 0:
		return landing.OutOfScope(f.over)
	case len(f.marked) > 0:
		return &ending.Stop{Code: event.CodeFailed, Detail: "conflict markers are left in " + textcut.List(f.marked)}
	case f.unneeded:
		return trials.Stop(f.Hunks)
	case len(f.failed) > 0:
		why := cmp.Or(site.Verifier{Site: o.Site}.Missing(o.Job.Spec.Verify, f.failed), commands.Why(f.failed))
		return &ending.Stop{Code: event.CodeFailed, Detail: fmt.Sprintf("verify %s failed after %s", commands.Names(f.failed), figures.Count(attempts, "attempt")) + why}
	}
	return nil
}

// Returned lets the tools of a session undo denied changes, and make a nested repository a directory.
func (f Faults) Returned(p permission.Profile, below string) permission.Profile {
	var files, nested []string
	for _, d := range f.barred {
		files = append(files, path.Clean(d.Request.Subject()))
	}
	for _, r := range f.refused {
		if r.Reason == state.NestedRepository {
			nested = append(nested, strings.TrimPrefix(strings.TrimPrefix(r.Path, below), "/"))
		}
	}
	return p.Returned(files, nested)
}

// Feedback returns the prompt of the attempt after one with faults. Complete outputs are in a
// report directory.
func (f Faults) Feedback(reports *files.Dir) string {
	var b strings.Builder
	if len(f.barred) > 0 {
		b.WriteString(landing.Undo(f.barred) + "\n")
	}
	if len(f.over) > 0 {
		b.WriteString(landing.Reduce(f.over) + "\n")
	}
	if len(f.refused) > 0 {
		b.WriteString(landing.Uncommittable(f.refused) + "\n")
	}
	if len(f.marked) > 0 {
		b.WriteString("Conflict markers are left in " + textcut.List(f.marked) + ". Resolve the conflicts, and finish again.\n")
	}
	if f.unneeded {
		b.WriteString(trials.Feedback(f.Hunks))
	}
	if len(f.failed) == 0 {
		return b.String()
	}
	b.WriteString(commands.Feedback(f.failed, reports))
	return b.String()
}

// Summary lists the faults in one line.
func (f Faults) Summary() string {
	var all []string
	if len(f.barred) > 0 {
		all = append(all, "it changed paths that the profile may not edit: "+landing.Denials(f.barred))
	}
	if len(f.over) > 0 {
		all = append(all, landing.Exceeded(f.over))
	}
	if len(f.refused) > 0 {
		all = append(all, "paths can't be committed: "+refusedPaths(f.refused))
	}
	if len(f.failed) > 0 {
		all = append(all, fmt.Sprintf("verify %s failed", commands.Names(f.failed))+commands.Why(f.failed))
	}
	if len(f.marked) > 0 {
		all = append(all, "conflict markers are left in "+textcut.List(f.marked))
	}
	if f.unneeded {
		all = append(all, trials.Text(f.Hunks))
	}
	return strings.Join(all, "; ")
}

func refusedPaths(all []state.Refusal) string {
	var list []string
	for _, f := range all {
		list = append(list, f.Path)
	}
	return textcut.List(list)
}
