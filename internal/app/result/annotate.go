package result

import (
	"slices"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
)

// Annotate adds annotations of failed jobs and of warnings to the log of a GitHub step. Paths of manifests are relative to dir. The
// action annotates its log itself: it passes no commands of a run on.
func Annotate(w world.World, log *view.Log, rep *report.Report, dir string) {
	if action.IsLog(w.Err) || !log.Annotated(false) {
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

// withoutReasons returns a report without the reasons of jobs, which the log of the run has.
func withoutReasons(rep *report.Report) *report.Report {
	brief := *rep
	brief.Jobs = slices.Clone(rep.Jobs)
	for i := range brief.Jobs {
		brief.Jobs[i].Reason = ""
	}
	return &brief
}
