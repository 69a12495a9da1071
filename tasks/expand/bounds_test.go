package expand

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/tasks"
)

// numbered repeats a text n times with the number for each %d.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

func TestManifestsThatGrowWithoutBoundAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	long := "[0,1,2,3,4,5,6,7,8,9]"
	for _, tt := range []struct {
		name     string
		manifest string
		want     string
	}{
		{"a large file", strings.Repeat("#\n", 1<<19) + oneTask, "m.yaml: the file exceeds 1 MiB; split it into several"},
		{"deep lists", "vars: " + strings.Repeat("[", 200_000), "m.yaml:1:1: the file is not valid YAML: exceeded max depth of 10000; compare it with the examples in the manual"},
		{"aliases that double", "vars:\n  a0: &a0 [x, x]\n" + numbered(40, "  b%d: &b%d [*a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0]\n") + "  c: &c [" + numbered(40, "*b%d,") + "]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", "m.yaml:45:13: the file expands to more than 100000 values; use fewer aliases, or split the file"},
		{"merge keys that double", "x: &a0 {k: v}\n" + numbered(30, "x%d: &b%d {<<: [*a0, *a0], k%d: v}\n") + oneTask, `m.yaml:1:1: unknown key "x"; known here: agents, agents_from, allow_dirty, allow_unknown_price, batch, budget, clones, commands, commands_from, effort, evidence, follow, forges, hooks, instructions, jobs, js, limits, lsp, lsp_diagnostics, max_output, mcp, model, name, plugins, prices, profile, profiles, providers, repos, rollout, search, skills, tasks, temperature, tool_output, tools, tools_from, vars, version`},
		{"combinations", head + "tasks: [{id: a, prompt: p, matrix: {a: &l " + long + ", b: *l, c: *l, d: *l, e: *l, f: *l, g: *l, h: *l, i: *l, j: *l, k: *l, l: *l, m: *l, n: *l, o: *l, p: *l, q: *l, r: *l, s: *l, t: *l, u: *l}}]", "m.yaml:3:36: the plan has more than 50000 jobs; split it"},
		{"jobs of several tasks", head + "tasks:\n" + numbered(6, "- {id: a%d, prompt: p, matrix: {a: &l"+" "+long+", b: *l, c: *l, d: *l}}\n"), "m.yaml:9:31: the plan has more than 50000 jobs; split it"},
		{"tasks", head + "tasks: [" + strings.Repeat("x,", 50_001) + "]", `m.yaml:3:8: "tasks" has more than 50000 entries; make it shorter`},
		{"keys of a matrix", head + "tasks: [{id: a, prompt: p, matrix: {" + numbered(51, "k%d: [1],") + "}}]", "m.yaml:3:36: the matrix has more than 50 keys; split the task"},
		{"keys of an include", head + "tasks: [{id: a, prompt: p, matrix: {include: [{" + numbered(51, "k%d: 1,") + "}]}}]", `m.yaml:3:47: entry 1 of "include" has more than 50 keys; split the task`},
		{"excludes", head + "tasks: [{id: a, prompt: p, matrix: {a: [1], exclude: [" + strings.Repeat("{a: 1},", 1001) + "]}}]", `m.yaml:3:54: "exclude" has more than 1000 entries; make it shorter`},
		{"setup", head + "tasks: [{id: a, prompt: p, setup: [" + strings.Repeat("x,", 101) + "]}]", `m.yaml:3:35: "setup" has more than 100 entries; make it shorter`},
		{"profiles", oneTask + "profiles: {" + numbered(101, "p%d: {permission: deny},") + "}", "m.yaml:4:11: more than 100 profiles; spread them over several manifests"},
		{"rules", oneTask + "profiles: {p: {permission: {read: {" + numbered(2001, "p%d: deny,") + "}}}}", "m.yaml:4:15: the profile has more than 2000 entries; use wildcards"},
		{"needs", head + "tasks:\n- {id: a, prompt: p, matrix: {a: &l " + long + ", b: *l, c: *l}}\n" + numbered(1001, "- {id: b%d, prompt: p, needs: [a]}\n"), "m.yaml:1005:3: needs result in more than 1000000 dependencies between jobs; split the plan"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, tt.manifest, nil, tasks.Overrides{})
			if diff := cmp.Diff(tt.want, append(lines(t, err), "no problem")[0]); diff != "" {
				t.Errorf("first problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanMayHaveTheMaximumOfJobs(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-trust runs it; for every change .ci/allocs loads 10,000 jobs")
	}
	p := mustLoad(t, head+"tasks: [{id: a, prompt: 'p ${{ matrix.d }}', matrix: {a: &l [0,1,2,3,4,5,6,7,8,9], b: *l, c: *l, d: *l, e: [0,1,2,3,4]}}]", tasks.Overrides{})
	if len(p.Jobs) != tasks.MaxJobs || p.Jobs[tasks.MaxJobs-1].ID != "a-9-9-9-9-4" {
		t.Errorf("%d jobs", len(p.Jobs))
	}
}

func TestProblemsAreLimited(t *testing.T) {
	_, err := loadText(t, numbered(5000, "key%d: 1\n"), nil, tasks.Overrides{})
	got := lines(t, err)
	if len(got) != 1001 || got[1000] != "m.yaml: more than 1000 problems; fix these first" {
		t.Errorf("%d problems, the last %s", len(got), got[len(got)-1])
	}
}

func TestNamesInMessagesAreCutAndQuoted(t *testing.T) {
	_, err := loadText(t, "\"a\\e[31m\\n::set-env x\": 1\n"+strings.Repeat("k", 1000)+": 1\n"+oneTask, nil, tasks.Overrides{})
	got := lines(t, err)
	want := []string{
		`m.yaml:1:1: unknown key "a\x1b[31m\n::set-env x"; `,
		`m.yaml:2:1: unknown key "` + strings.Repeat("k", 60) + `..."; `,
	}
	for i, w := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], w) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
