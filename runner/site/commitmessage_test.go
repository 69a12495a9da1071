package site

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

func TestOnlyTheFinishedWorkOfTheSameJobIsPushedLater(t *testing.T) {
	spec := tasks.Job{ID: "notice", Task: "notice", Prompt: "Add a notice.", Repo: tasks.Repo{Name: "shop"}, Commit: &tasks.Commit{}}
	const base = "0123456789012345678901234567890123456789"
	made := func(change func(*tasks.Job), outcome event.Outcome) string {
		of := spec
		if change != nil {
			change(&of)
		}
		return (&Job{Plan: &tasks.Plan{}, opts: &Options{}, Spec: of}).Message(base, "", outcome)
	}
	for name, c := range map[string]struct {
		message, base string
		want          bool
	}{
		"the same":        {made(nil, ""), base, true},
		"another base":    {made(nil, ""), "", false},
		"another prompt":  {made(func(j *tasks.Job) { j.Prompt = "Add two." }, ""), base, false},
		"another task":    {made(func(j *tasks.Job) { j.Task = "licence" }, ""), base, false},
		"another repo":    {made(func(j *tasks.Job) { j.Repo.Name = "web" }, ""), base, false},
		"not finished":    {made(nil, event.Limit), base, false},
		"not millhand's":  {"notice: Add a notice.\n", base, false},
		"another message": {made(func(j *tasks.Job) { j.Commit = &tasks.Commit{Message: "Hello"} }, ""), base, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := trailers.Read(c.message).Finishes(landing.TaskHash(spec, c.base)); got != c.want {
				t.Errorf("got %t for:\n%s", got, c.message)
			}
		})
	}
}
