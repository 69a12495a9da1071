package rollout

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// jobs returns n jobs with ids from a prefix, each in a repository of its own.
func jobs(n int, change ...func(*tasks.Job)) []tasks.Job {
	all := make([]tasks.Job, n)
	for i := range all {
		id := fmt.Sprintf("job-%03d", i)
		all[i] = tasks.Job{ID: id, Hash: "1", Repo: tasks.Repo{Name: "repo-" + id[4:]}, Limits: tasks.Limits{CostUSD: money.Dollar}}
		for _, c := range change {
			c(&all[i])
		}
	}
	return all
}

func sizes(waves []Wave) (all []int) {
	for _, w := range waves {
		all = append(all, len(w.Jobs))
	}
	return all
}

func TestDivide(t *testing.T) {
	wave := func(jobs int, share tasks.Share) tasks.WaveSize { return tasks.WaveSize{Jobs: jobs, Share: share} }
	for _, c := range []struct {
		name string
		spec tasks.Rollout
		jobs int
		want []int
	}{
		{"no waves", tasks.Rollout{}, 7, []int{7}},
		{"only canaries", tasks.Rollout{Canary: []string{"repo-001"}}, 7, []int{1, 6}},
		{"all", tasks.Rollout{Canary: []string{"repo-001"}, Waves: []tasks.WaveSize{wave(10, 0), wave(0, 2500), wave(0, 10000)}}, 120, []int{1, 9, 20, 90}},
		{"without 100%", tasks.Rollout{Waves: []tasks.WaveSize{wave(10, 0)}}, 12, []int{10, 2}},
		{"rounded up", tasks.Rollout{Waves: []tasks.WaveSize{wave(0, 1000)}}, 11, []int{2, 9}},
		{"a share below the wave before", tasks.Rollout{Waves: []tasks.WaveSize{wave(10, 0), wave(0, 2500), wave(0, 10000)}}, 12, []int{10, 2}},
		{"more canaries than the first wave", tasks.Rollout{Canary: []string{"repo-001", "repo-002", "repo-003"}, Waves: []tasks.WaveSize{wave(2, 0), wave(5, 0)}}, 7, []int{3, 2, 2}},
		{"larger than the plan", tasks.Rollout{Waves: []tasks.WaveSize{wave(10, 0), wave(20, 0)}}, 3, []int{3}},
		{"no jobs", tasks.Rollout{Waves: []tasks.WaveSize{wave(10, 0)}}, 0, nil},
	} {
		if got := sizes(Divide(&c.spec, jobs(c.jobs))); !slices.Equal(got, c.want) {
			t.Errorf("%s: waves of %v jobs, want %v", c.name, got, c.want)
		}
	}
}

// TestDivideIsStable adds jobs to a plan: others stay in their order, and the order of the
// plan does not matter. Jobs that need one another stay together.
func TestDivideIsStable(t *testing.T) {
	spec := tasks.Rollout{Waves: []tasks.WaveSize{{Jobs: 5}}}
	ids := func(waves []Wave) (all []string) {
		for _, w := range waves {
			for _, j := range w.Jobs {
				all = append(all, j.ID)
			}
		}
		return all
	}
	all := jobs(20)
	few := ids(Divide(&spec, all[:15]))
	many := ids(Divide(&spec, all))
	same := slices.DeleteFunc(slices.Clone(many), func(id string) bool { return !slices.Contains(few, id) })
	if diff := cmp.Diff(few, same); diff != "" {
		t.Errorf("added jobs move others:\n%s", diff)
	}
	slices.Reverse(all)
	if diff := cmp.Diff(many, ids(Divide(&spec, all))); diff != "" {
		t.Errorf("the order of the plan matters:\n%s", diff)
	}
	chain := jobs(4)
	for i := range chain[1:] {
		chain[i+1].Needs = []string{chain[i].ID}
	}
	if got := sizes(Divide(&tasks.Rollout{Waves: []tasks.WaveSize{{Jobs: 1}}}, chain)); !slices.Equal(got, []int{4}) {
		t.Errorf("jobs that need one another are in waves of %v", got)
	}
}
