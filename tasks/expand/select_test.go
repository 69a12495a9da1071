package expand

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

// chain has 40 jobs of a, 40 of b, each of which needs all of a, and 40 of c.
const chain = head + `tasks:
  - {id: a, prompt: p, matrix: {x: [0, 1, 2, 3], y: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}
  - {id: b, prompt: p, matrix: {x: [0, 1, 2, 3], y: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}, needs: [a]}
  - {id: c, prompt: p, matrix: {x: [0, 1, 2, 3], y: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}
`

func TestSelectedJobsKeepTheirOrder(t *testing.T) {
	manifest := head + "tasks: [{id: a, prompt: p, matrix: {k: [1, 2, 3, 4, 5, 6]}}, {id: b, prompt: p}]"
	for _, tt := range []struct {
		name string
		o    tasks.Overrides
		want string
	}{
		{"all", tasks.Overrides{}, "a-1 a-2 a-3 a-4 a-5 a-6 b"},
		{"the first", tasks.Overrides{Limit: 3}, "a-1 a-2 a-3"},
		{"more than there are", tasks.Overrides{Limit: 30, Sample: 30}, "a-1 a-2 a-3 a-4 a-5 a-6 b"},
		{"a sample", tasks.Overrides{Sample: 3}, "a-1 a-3 a-4"},
		{"a larger sample", tasks.Overrides{Sample: 4}, "a-1 a-3 a-4 b"},
		{"a sample of the first", tasks.Overrides{Limit: 4, Sample: 2}, "a-1 a-3"},
		{"the first of those that are named", tasks.Overrides{Only: []string{"b", "a-5", "a-2"}, Limit: 2}, "a-2 a-5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := mustLoad(t, manifest, tt.o)
			ids, _ := jobIDs(p)
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			for i, j := range p.Jobs {
				if j.Index != i+1 {
					t.Errorf("%s is number %d", j.ID, j.Index)
				}
			}
		})
	}
}

func TestNotesListOmittedNeeds(t *testing.T) {
	small := head + "tasks: [{id: a, prompt: p, matrix: {k: [1, 2, 3, 4, 5, 6]}}, {id: b, prompt: p}, {id: c, prompt: p, needs: [a, b]}, {id: d, prompt: p, needs: [c]}]"
	for _, tt := range []struct {
		name string
		only []string
		want []string
	}{
		{"nothing", nil, nil},
		{"nothing that is needed", []string{"a", "b"}, nil},
		{"one", []string{"a", "c"}, []string{"job c runs although job b, which it needs, is not selected"}},
		{"two", []string{"a-1", "a-2", "a-3", "a-4", "a-5", "c"}, []string{"job c runs although jobs a-6 and b, which it needs, are not selected"}},
		{"many", []string{"b", "c", "d"}, []string{"job c runs although jobs a-1, a-2, a-3 and 3 more, which it needs, are not selected"}},
		{"of two jobs", []string{"d"}, []string{"job d runs although job c, which it needs, is not selected"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mustLoad(t, small, tasks.Overrides{Only: tt.only}).Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	notes := mustLoad(t, strings.Replace(chain, "x: [0, 1, 2, 3], y", "x: [0, 1, 2, 3, 4, 5], y", 2), tasks.Overrides{Only: []string{"b"}}).Notes
	if len(notes) != maxMissing+1 || notes[maxMissing] != "10 more jobs run although jobs that they need are not selected" {
		t.Errorf("%d notes, the last %q", len(notes), notes[len(notes)-1])
	}
}

func TestShardsAddUpToThePlan(t *testing.T) {
	plan := mustLoad(t, chain, tasks.Overrides{Sample: 110})
	const total = 7
	of := tasks.ShardOf(plan, total)
	var ids []string
	sizes := map[int]int{}
	for i := range total {
		p := mustLoad(t, chain, tasks.Overrides{Sample: 110, Shard: tasks.Shard{Index: i + 1, Total: total}})
		if p.Hash != plan.Hash || p.Shard != (tasks.Shard{Index: i + 1, Total: total}) || len(p.Jobs)+len(p.Elsewhere) != len(plan.Jobs) {
			t.Errorf("shard %d: hash %.8s, want %.8s; %+v with %d and %d jobs", i+1, p.Hash, plan.Hash, p.Shard, len(p.Jobs), len(p.Elsewhere))
		}
		if !maps.Equal(tasks.ShardOf(p, total), of) {
			t.Errorf("shard %d sees other shards", i+1)
		}
		here := map[string]bool{}
		for _, j := range p.Jobs {
			here[j.ID] = true
			ids = append(ids, fmt.Sprint(j.Index, " ", j.ID))
			sizes[of[j.ID]]++
			if of[j.ID] != i+1 {
				t.Errorf("%s is in shard %d, and ShardOf returns %d", j.ID, i+1, of[j.ID])
			}
		}
		for _, j := range p.Jobs {
			if missing := slices.IndexFunc(j.Needs, func(id string) bool { return !here[id] }); missing >= 0 {
				t.Errorf("%s needs %s, which is in another shard", j.ID, j.Needs[missing])
			}
		}
	}
	var want []string
	for _, j := range plan.Jobs {
		want = append(want, fmt.Sprint(j.Index, " ", j.ID))
	}
	slices.Sort(ids)
	slices.Sort(want)
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("jobs of all shards (-want +got):\n%s", diff)
	}
	if len(sizes) != total {
		t.Errorf("of %d shards only %v have jobs", total, sizes)
	}
}

func TestAShardMayHaveNoJobs(t *testing.T) {
	p := mustLoad(t, oneTask, tasks.Overrides{})
	const total = 3
	empty := 1 + tasks.ShardOf(p, total)["a"]%total
	if p = mustLoad(t, oneTask, tasks.Overrides{Shard: tasks.Shard{Index: empty, Total: total}}); len(p.Jobs) != 0 || len(p.Elsewhere) != 1 {
		t.Errorf("%d jobs here, %d elsewhere", len(p.Jobs), len(p.Elsewhere))
	}
	if p = mustLoad(t, oneTask, tasks.Overrides{Shard: tasks.Shard{Index: 1, Total: 1}}); len(p.Jobs) != 1 || len(p.Elsewhere) != 0 {
		t.Errorf("%d jobs here, %d elsewhere", len(p.Jobs), len(p.Elsewhere))
	}
}

// The numbers must never change: they are how runs of several releases find
// their jobs, and how a job stays where its caches are.
func TestAJobsShardFollowsFromItsID(t *testing.T) {
	p := &tasks.Plan{Jobs: []tasks.Job{{ID: "fix"}, {ID: "z", Needs: []string{"b"}}, {ID: "b"}}, Elsewhere: []tasks.Job{{ID: "fix-api"}, {ID: "last", Needs: []string{"z"}}}}
	want := map[string]int{"fix": 5, "fix-api": 38, "b": 47, "z": 47, "last": 47}
	if diff := cmp.Diff(want, tasks.ShardOf(p, 100)); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
}

func TestShardsOnTheCommandLine(t *testing.T) {
	for _, tt := range []struct {
		s    string
		want tasks.Shard
	}{
		{"1/1", tasks.Shard{Index: 1, Total: 1}},
		{"3/12", tasks.Shard{Index: 3, Total: 12}},
		{"", tasks.Shard{}},
		{"1", tasks.Shard{}},
		{"0/2", tasks.Shard{}},
		{"3/2", tasks.Shard{}},
		{"1/0", tasks.Shard{}},
		{"-1/2", tasks.Shard{}},
		{"1/2/3", tasks.Shard{}},
		{" 1/2", tasks.Shard{}},
		{"1/99999999999999999999", tasks.Shard{}},
	} {
		got, err := tasks.ParseShard(tt.s)
		if got != tt.want || (err != nil) != (tt.want == tasks.Shard{}) {
			t.Errorf("%q is %+v, %v", tt.s, got, err)
		}
	}
}
