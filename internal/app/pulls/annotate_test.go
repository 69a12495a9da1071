package pulls

import (
	"maps"
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedjob"
	"github.com/millhand/millhand/tasks"
)

// Patterns are only computed for jobs whose descriptions have them.
func TestOnlyDescriptionsWithTheVariableHavePatterns(t *testing.T) {
	const with = "See:\n${{ patterns }}"
	plan := &tasks.Plan{Jobs: []tasks.Job{
		{ID: "with", Pull: &tasks.PullRequest{Body: with}},
		{ID: "default", Pull: &tasks.PullRequest{}},
		{ID: "title", Pull: &tasks.PullRequest{Title: with, Body: "$${{ patterns"}},
		{ID: "branch"},
	}}
	want := []string{"with"}
	if got := slices.Collect(maps.Keys(WithPatterns(plan))); !slices.Equal(got, want) {
		t.Errorf("of a plan: %q, want %q", got, want)
	}
	saved := func(l *event.Landing) *savedjob.Job {
		return &savedjob.Job{Publishable: history.Publishable{Start: &event.JobStart{Landing: l}}}
	}
	p := &Publishing{state: events{jobs: map[string]*savedjob.Job{
		"with": saved(&event.Landing{PullRequest: &event.PullRequestSpec{Body: with}}), "default": saved(&event.Landing{PullRequest: &event.PullRequestSpec{}}),
		"branch": saved(&event.Landing{}), "kept": saved(nil), "skipped": {},
	}}}
	if got := slices.Collect(maps.Keys(p.withPatterns())); !slices.Equal(got, want) {
		t.Errorf("of a saved run: %q, want %q", got, want)
	}
}
