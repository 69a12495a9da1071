package distill

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

// Result is what a script did in one job.
type Result string

// The results of a script in a job.
const (
	Same  Result = "same"  // the files are those of the accepted patch, or its edits have the same shapes, and verify passes
	Wrong Result = "wrong" // it would have been committed, or nothing would, and that is not the accepted patch
	Left  Result = "left"  // it failed, so an agent would do the task
	Error Result = "error" // the job ended for a reason that is not the script's
)

// Trial is the run of a script on the base of an accepted patch.
type Trial struct {
	Job     string `json:"job"`
	Repo    string `json:"repo"`
	HeldOut bool   `json:"held_out"` // the model did not get its patch
	Result  Result `json:"result"`
	Reason  string `json:"reason"` // empty for exactly the same files
}

// Judge returns the result of a job that ran only the script, given its patch.
func Judge(e Example, j report.Job, patch []byte) Trial {
	t := Trial{Job: e.Job, Repo: e.Repo, HeldOut: e.HeldOut}
	t.Result, t.Reason = judge(e, j, patch)
	return t
}

func judge(e Example, j report.Job, patch []byte) (Result, string) {
	switch {
	case j.Script == nil:
		return Error, j.Reason
	case j.Script.Reason != "":
		return Left, j.Script.Reason
	case j.Script.Outcome == event.ScriptUnchanged:
		return Wrong, "it changed nothing and reported success"
	case j.Outcome != event.Passed:
		return Error, j.Reason
	case SameTree(e.Patch, patch):
		return Same, ""
	case len(j.Verify) > 0 && SameShapes(e.Patch, patch):
		return Same, "other files than those of the accepted patch, with edits of the same shapes"
	}
	return Wrong, "its change is not the accepted one"
}

// Verdict is whether a script is accepted.
type Verdict struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason"` // empty if it is accepted
}

// Decide accepts a script that is right in at least three jobs that were held out, and wrong
// in none. Jobs that it leaves to an agent don't count.
func Decide(trials []Trial) Verdict {
	same, wrong := 0, 0
	for _, t := range trials {
		switch {
		case t.Result == Wrong:
			wrong++
		case t.Result == Same && t.HeldOut:
			same++
		}
	}
	switch {
	case wrong > 0:
		first := trials[slices.IndexFunc(trials, func(t Trial) bool { return t.Result == Wrong })]
		return Verdict{Reason: fmt.Sprintf("it is wrong in %d of %d jobs, first in %s: %s", wrong, len(trials), first.Job, first.Reason)}
	case same < Least:
		return Verdict{Reason: fmt.Sprintf("it makes the accepted change in %d of the jobs that were held out, and must in at least %d", same, Least)}
	}
	return Verdict{Accepted: true}
}
