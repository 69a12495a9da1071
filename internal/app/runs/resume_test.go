package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
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

func TestARunIsResumedWithItsOwnFlags(t *testing.T) {
	then := &event.Run{Invocation: &event.Invocation{Args: []string{"m.yaml", "--model", "openai/a", "--jobs", "2"}}}
	for args, refused := range map[string]string{
		"":                              "",
		"--model openai/a":              "",
		"--jobs 8 --quiet --max-cost 3": "",
		"--model openai/b":              "--model is not one of them or has another value",
		"--sandbox off":                 "--sandbox is not one of them or has another value",
	} {
		now := *New()
		now.Invocation = &event.Invocation{Args: strings.Fields(args)}
		if err := sameFlags(now, then); (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: refused with %v, want %q", args, err, refused)
		}
	}
}

// The directory of a run has its manifests, and arguments replace them.
func TestResumedUsesTheDirectoryOfTheRun(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(own, load.UsualManifest), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		args, given []string
		want        []string
		in          string
	}{
		{"no argument", nil, nil, []string{load.UsualManifest}, own},
		{"an argument", []string{"a.yaml"}, nil, []string{"a.yaml"}, own},
		{"another argument now", nil, []string{"b.yaml"}, []string{"b.yaml"}, other},
		{"a prompt", []string{"-p", "Look."}, nil, nil, own},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(other)
			now := *New()
			now.Plan.Manifests = test.given
			got, err := Resumed(now, &event.Run{ID: "r", Invocation: &event.Invocation{Dir: own, Args: test.args}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Plan.Manifests); diff != "" {
				t.Error(diff)
			}
			if dir := got.Plan.In(world.World{Dir: other}); dir != test.in {
				t.Errorf("in %s, want %s", dir, test.in)
			}
			if dir, err := os.Getwd(); err != nil || dir != other {
				t.Errorf("the process is in %s, was in %s (%v)", dir, other, err)
			}
		})
	}
	if _, err := Resumed(*New(), &event.Run{Invocation: &event.Invocation{Dir: filepath.Join(own, "gone")}}); err == nil || !strings.Contains(err.Error(), "name its manifests") {
		t.Errorf("without its directory: %v", err)
	}
	if _, err := Resumed(*New(), &event.Run{}); err == nil {
		t.Error("a run without an invocation is resumed")
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
		f      FollowUp
		plan   *tasks.Plan
		refuse string
	}{
		{"another job", FollowUp{Job: "c", Prompt: "more"}, plan("a", "b"), `job "c" not found`},
		{"no job of several", FollowUp{Prompt: "more"}, plan("a", "b"), `job "" not found`},
		{"a job that has not ended", FollowUp{Job: "a", Prompt: "more"}, plan("a", "b"), "has no session that has ended"},
		{"the only job, which has not ended", FollowUp{Prompt: "more", By: &Following{CostUSD: money.Dollar}}, plan("a"), "has no session that has ended"},
		{"nothing", FollowUp{}, plan("a"), ""},
	} {
		_, _, err := test.f.apply(&history.Past{Run: &event.Run{}}, test.plan, history.Order{Do: history.Resume{}})
		if (err == nil) != (test.refuse == "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
			t.Errorf("%s: %v, want %q", test.name, err, test.refuse)
		}
	}
}
