package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

func TestChangePathsHaveVariables(t *testing.T) {
	p := mustLoad(t, head+`vars: {dir: ./docs, all: .}
tasks:
  - {id: a, prompt: p, matrix: {language: [de, fr]}, change: {paths: ["${{ vars.dir }}/${{ matrix.language }}/", ./x/]}}
  - {id: b, prompt: p, change: {paths: ["${{ vars.all }}"]}}
`, tasks.Overrides{})
	var got [][]string
	for _, j := range p.Jobs {
		got = append(got, j.Change.Paths)
	}
	if diff := cmp.Diff([][]string{{"docs/de", "x"}, {"docs/fr", "x"}, {"**"}}, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestChangePathsAreCheckedWithTheirVariables(t *testing.T) {
	_, err := loadText(t, head+`vars: {up: .., root: /, not: "!x", open: "["}
tasks:
- {id: a, prompt: p, change: {paths: ["${{ vars.up }}/x"]}}
- {id: b, prompt: p, change: {paths: ["${{ vars.root }}x"]}}
- {id: c, prompt: p, change: {paths: ["${{ vars.not }}"]}}
- {id: d, prompt: p, change: {paths: ["${{ vars.open }}"]}}
- {id: e, prompt: p, change: {paths: ["${{ vars.none }}", ../y]}}
- {id: f, prompt: p, commit: {protect: ["${{ vars.up }}"]}}
`, nil, tasks.Overrides{})
	want := []string{
		`m.yaml:5:39: glob "../x" is not in the workspace; write it relative to the workspace or the repository`,
		`m.yaml:6:39: glob "/x" is not in the workspace; write it relative to the workspace or the repository`,
		`m.yaml:7:39: glob "!x": exclusions are not supported here; put the path under commit.protect`,
		`m.yaml:8:39: invalid glob "["; close its brackets`,
		`m.yaml:9:40: unknown variable "vars.none"; did you mean "vars.not"?`,
		`m.yaml:9:59: glob "../y" is not in the workspace; write it relative to the workspace or the repository`,
		`m.yaml:10:41: glob "${{ vars.up }}": variables are not supported here; write the path itself`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
