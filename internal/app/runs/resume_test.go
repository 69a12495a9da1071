package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

func TestCompareNamesJobsThatDiffer(t *testing.T) {
	past := &history.Past{Run: &event.Run{PlanHash: "old", Jobs: []event.PlannedJob{{ID: "same", Hash: "1"}, {ID: "changed", Hash: "2"}, {ID: "removed", Hash: "3"}}}}
	plan := func(hash string, jobs ...tasks.Job) *tasks.Plan { return &tasks.Plan{Hash: hash, Jobs: jobs} }
	same, changed, added := tasks.Job{ID: "same", Hash: "1"}, tasks.Job{ID: "changed", Hash: "9"}, tasks.Job{ID: "added", Hash: "4"}
	tests := []struct {
		name   string
		plan   *tasks.Plan
		accept bool
		except []string
		refuse string
	}{
		{"the same plan", plan("old", changed), false, nil, ""},
		{"three differences", plan("new", same, changed, added), false, nil, "(changed: changed; new: added; removed: removed)"},
		{"differences that are accepted", plan("new", same, changed, added), true, []string{"changed", "added"}, ""},
		{"no job differs", plan("new", same, tasks.Job{ID: "changed", Hash: "2"}, tasks.Job{ID: "removed", Hash: "3"}), false, nil, "(what all jobs share: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			except, err := Compare(past, test.plan, test.accept)
			if (err == nil) != (test.refuse == "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
				t.Errorf("refused with %v, want %q", err, test.refuse)
			}
			if diff := cmp.Diff(test.except, except); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFollowUpNamesAJobOfThePlan(t *testing.T) {
	plan := func(ids ...string) *tasks.Plan {
		p := &tasks.Plan{}
		for _, id := range ids {
			p.Jobs = append(p.Jobs, tasks.Job{ID: id})
		}
		return p
	}
	for _, test := range []struct {
		name   string
		f      invocation.FollowUp
		plan   *tasks.Plan
		refuse string
	}{
		{"another job", invocation.FollowUp{Job: "c", Prompt: "more"}, plan("a", "b"), `job "c" not found`},
		{"no job of several", invocation.FollowUp{Prompt: "more"}, plan("a", "b"), `job "" not found`},
		{"a job that has not ended", invocation.FollowUp{Job: "a", Prompt: "more"}, plan("a", "b"), "has no session that has ended"},
		{"the only job, which has not ended", invocation.FollowUp{Prompt: "more", By: &invocation.Following{CostUSD: money.Dollar}}, plan("a"), "has no session that has ended"},
		{"nothing", invocation.FollowUp{}, plan("a"), ""},
	} {
		_, _, err := followUp(test.f, &history.Past{Run: &event.Run{}}, test.plan, history.Order{Do: history.Resume{}})
		if (err == nil) != (test.refuse == "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
			t.Errorf("%s: %v, want %q", test.name, err, test.refuse)
		}
	}
}
