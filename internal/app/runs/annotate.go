package runs

import (
	"slices"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
)

// annotate adds annotations of failed jobs and of warnings to the log of a GitHub step. Paths of manifests are relative to dir. The
// action annotates its log itself: it passes no commands of a run on.
func annotate(w world.World, log *view.Log, rep *report.Report, dir string) {
	if isAction(w) || !log.Annotated(false) {
		return
	}
	where := action.Checkout{Repository: w.Getenv("GITHUB_WORKSPACE"), Dir: dir}
	all := slices.Concat(action.Failures(rep, where), action.Findings(rep, where))
	if log.Annotated(true) {
		all = append(all, action.Warnings(rep)...)
	}
	out := action.NewLog(w.Err)
	for _, a := range all {
		out.Annotate(a)
	}
}

// isAction reports whether the action runs the command. Its log has both streams.
func isAction(w world.World) bool {
	_, ok := w.Err.(*action.Log)
	return ok
}

// withoutReasons returns a report without the reasons of jobs, which the log of the run has.
func withoutReasons(rep *report.Report) *report.Report {
	brief := *rep
	brief.Jobs = slices.Clone(rep.Jobs)
	for i := range brief.Jobs {
		brief.Jobs[i].Reason = ""
	}
	return &brief
}
