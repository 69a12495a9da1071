package distill

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"sort"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

const (
	// Least is the number of jobs that a script must do right without having been made
	// from them.
	Least = 3

	mostExamples = 10
	mostTried    = 40
)

// Example is a job whose patch was accepted.
type Example struct {
	Job     string
	Repo    string
	Base    string // commit that the patch is relative to
	Patch   []byte
	HeldOut bool // the model does not get its patch
}

// Candidates returns the jobs of a task that passed with a base and a patch of all their changes.
func Candidates(jobs []report.Job, task string) []report.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j report.Job) bool {
		return j.Task != task || j.Outcome != event.Passed || j.Patch == "" || j.Continued() || j.Base == nil || j.Base.Commit == ""
	})
}

// Divide chooses the examples that the model gets and those that are held out: by their
// names, so that the same jobs are always divided in the same way, and at most 10 and 30.
// It returns nil for fewer than four.
func Divide(all []Example) []Example {
	if len(all) <= Least {
		return nil
	}
	all = slices.Clone(all)
	order := func(e Example) []byte {
		sum := sha256.Sum256([]byte(e.Repo + "\x00" + e.Job))
		return sum[:]
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(slices.Compare(order(all[i]), order(all[j])), cmp.Compare(all[i].Job, all[j].Job)) < 0
	})
	all = all[:min(len(all), mostTried)]
	given := min(mostExamples, len(all)-Least)
	for i := range all {
		all[i].HeldOut = i >= given
	}
	return all
}
