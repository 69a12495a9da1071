package repos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/preflight"
)

// Sweep removes what killed runs left in TMPDIR and in the repositories of this run. What
// can't be removed does not prevent the run.
func Sweep(ctx context.Context, w world.World, out *rundir.Dir, ready *preflight.Result, quiet bool) {
	removed, err := rundir.Sweep(filepath.Dir(out.Work()), ready.Worktrees(), w.Now())
	err = errors.Join(err, ready.RemoveWorktrees(ctx, func(tree string) bool {
		// This run has no worktrees yet: one in its directory was of a killed process of it.
		return rundir.IsGone(tree) || filepath.Dir(filepath.Dir(tree)) == out.Work()
	}))
	if quiet {
		return
	}
	for _, l := range removed {
		fmt.Fprintln(w.Err, "removed "+l.String())
	}
	if err != nil {
		fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
	}
}
