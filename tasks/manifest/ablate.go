package manifest

import (
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// maxTrials is the maximum number of trials that run concurrently.
const maxTrials = 16

// ablateForm is the form of ablate, which has defaults where it is written.
var ablateForm = form.Of[tasks.Ablate]{Type: form.TypeOf(ablateKeys), Read: func(v form.Value) (tasks.Ablate, bool) {
	a := form.WithDefaults(ablateKeys)
	ablateKeys(&a).Read(v)
	return a, true
}}

func ablateKeys(a *tasks.Ablate) form.Table {
	return form.Table{
		{Name: "time", Field: form.Into(&a.Time, form.Duration), Def: "5m", Doc: "Time for all trials after an attempt; what is not tried then is reported"},
		{Name: "jobs", Field: form.Into(&a.Jobs, form.Between(1, maxTrials)), Def: "1", Doc: "Number of trials that run concurrently, each in a checkout of its own"},
	}
}

// checkAblate records what is missing for ablate and change.unneeded; verifies: the task has verify, which a policy may have
// refused.
func (t *Task) checkAblate(verifies bool) {
	switch {
	case t.ablated.Key != nil && !verifies:
		t.ablated.Problem("ablate without verify commands", "add verify: [COMMAND], or remove ablate")
	case t.ablated.Key == nil && t.Change.unneeded.Key != nil:
		t.Change.unneeded.Problem("change.unneeded without ablate", "add ablate: {time: 5m}, which finds what is unneeded, or remove it")
	}
}
