package expand

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

const oneTask = head + "tasks: [{id: a, prompt: p}]\n"

func TestSeveralManifestsMakeOnePlan(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"a.yaml":     oneTask + "name: both\njobs: 4\nbudget: {cost: 5, time: 1h}\nallow_dirty: true\nallow_unknown_price: true\nprices: {openai/m: {input: 1, output: 2}}\n",
		"sub/b.yaml": strings.ReplaceAll(oneTask, "id: a", "id: b, needs: [a], repos: [{path: .}]") + "jobs: 2\nbudget: {cost: 9, time: 2m}\nallow_dirty: true\nprices: {openai/m: {input: 1, output: 2}}\n",
	})
	p, err := Load(t.Context(), []string{"a.yaml", "sub/b.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := jobIDs(p)
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if p.Name != "both" || p.Parallel != 2 || !p.AllowDirty || p.AllowUnknownPrice {
		t.Errorf("name %q, %d concurrent jobs, allow_dirty %v, allow_unknown_price %v", p.Name, p.Parallel, p.AllowDirty, p.AllowUnknownPrice)
	}
	if diff := cmp.Diff(tasks.Budget{CostUSD: 5 * money.Dollar, Time: 2 * time.Minute}, p.Budget); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, p.Jobs[1].Needs); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	if want := filepath.Join(dir, "sub"); p.Jobs[1].Repo.Dir != want || p.Jobs[0].Repo.Dir != dir {
		t.Errorf("repositories %s and %s, want %s and %s", p.Jobs[0].Repo.Dir, p.Jobs[1].Repo.Dir, dir, want)
	}
}

func TestProblemsOfSeveralManifestsAreCollected(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"a.yaml": oneTask + "prices: {openai/m: {input: 1, output: 2}}",
		"b.yaml": oneTask + "prices: {openai/m: {input: 1, output: 3}}",
		"c.yaml": "version: 1\nmodel: [\n",
		"d.yaml": head + "tasks: [{id: d, prompt: p, needs: [c], agent: of-c, model: of-c/m}]",
	})
	_, err := Load(t.Context(), []string{"d.yaml", "c.yaml", "b.yaml", "a.yaml", "nope.yaml", "./a.yaml", "."}, options(dir))
	want := []string{
		`.: not a file; check its path`,
		`./a.yaml: the manifest is named twice; name it once`,
		`a.yaml:3:14: duplicate task id "a", first at b.yaml:3; rename one of the tasks`,
		`a.yaml:4:10: the price of "openai/m" differs from the one at b.yaml:4; state it once`,
		`c.yaml:2:1: this line does not fit the lines above it; check its indentation, and that quotes and brackets before it are closed`,
		`nope.yaml: not found; check its path`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestNoManifestIsAProblem(t *testing.T) {
	_, err := Load(t.Context(), nil, options(t.TempDir()))
	if diff := cmp.Diff([]string{"millhand: no manifest is named; name at least one file"}, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestManifestFromStdinIsRelativeToCurrentDir(t *testing.T) {
	dir := dirWith(t, map[string]string{"notes.md": "Be brief.", "lib/": ""})
	o := options(dir)
	o.Stdin = func() ([]byte, error) {
		return []byte(oneTask + "instructions: [notes.md]\nrepos: [{path: lib}]"), nil
	}
	p, err := Load(t.Context(), []string{"-"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "stdin" || p.Jobs[0].Instructions[0].Text != "Be brief." || p.Jobs[0].Repo.Dir != filepath.Join(dir, "lib") {
		t.Errorf("plan %+v", p)
	}

	broken := errors.New("broken pipe")
	o.Stdin = func() ([]byte, error) { return nil, broken }
	_, err = Load(t.Context(), []string{"-"}, o)
	if !errors.Is(err, broken) || errors.As(err, new(problem.List)) {
		t.Errorf("got %v, want an error of standard input", err)
	}
}

func TestHashesAreTheSameWhereverThePlanIsMade(t *testing.T) {
	manifest := head + `profile: mine
profiles:
  mine: {extends: build, permission: {external_directory: {"~/.cache/*": allow}}}
repos: [{path: one}, {path: two}]
tasks: [{id: a, prompt: "p ${{ vars.x }}", verify: [{run: go test}], matrix: {k: [1, 2]}}, {id: b, prompt: q, model: "script:s.yaml", needs: [a]}]
vars: {x: y}
instructions: [n.md]
`
	files := map[string]string{"one/": "", "two/": "", "s.yaml": "", "n.md": "Be brief."}
	hash := func(t *testing.T, manifest, home, name string, o tasks.Overrides) string {
		t.Helper()
		all := map[string]string{name: manifest}
		maps.Copy(all, files)
		dir := dirWith(t, all)
		opts := options(dir)
		opts.Overrides = o
		opts.Getenv = func(string) string { return home }
		p, err := Load(t.Context(), []string{filepath.Join(dir, name)}, opts)
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash
	}
	want := hash(t, manifest, "/home/ann", "m.yaml", tasks.Overrides{})
	if len(want) != 64 {
		t.Errorf("hash %q", want)
	}
	if got := hash(t, "\n\n"+manifest, "/home/bob", "other.yaml", tasks.Overrides{Parallel: 9, MaxCost: 3 * money.Dollar}); got != want {
		t.Error("the hash depends on the machine, the layout or how much the run may take")
	}
	for _, change := range [][2]string{
		{`"p ${{`, `"r ${{`},
		{"x: y", "x: z"},
		{"go test", "go vet"},
		{"[1, 2]", "[1, 3]"},
		{".cache", ".local"},
		{"needs: [a]", "needs: []"},
		{"{path: two}", "{copy: two}"},
		{"openai/m", "openai/n"},
		{"extends: build", "extends: edit"},
		{"instructions: [n.md]", ""},
		{"{path: two}", "{path: two, ref: main}"},
		{"{path: two}", "{url: 'https://h/two'}"},
		{"{path: two}", "{url: 'https://h/two', depth: 1}"},
		{"id: b,", "id: b, if: repo.has('x'),"},
		{"id: b,", "id: b, if: repo.has('x') && vars.x == 'y',"},
		{"id: b,", "id: b, if: vars.x != 'y',"},
		{"id: b,", "id: b, commit: {if_exists: skip},"},
		{"id: b,", "id: b, publish: {mode: patch},"},
	} {
		if got := hash(t, strings.Replace(manifest, change[0], change[1], 1), "/home/ann", "m.yaml", tasks.Overrides{}); got == want {
			t.Errorf("the hash is the same with %q instead of %q", change[1], change[0])
		}
	}
}

func TestScriptsAreFoundFromTheirManifest(t *testing.T) {
	dir := dirWith(t, map[string]string{"sub/m.yaml": strings.Replace(oneTask, "openai/m", "script:s.yaml", 1), "sub/s.yaml": "x"})
	p, err := Load(t.Context(), []string{"sub/m.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if j := p.Jobs[0]; j.Model != "script:"+filepath.Join(dir, "sub", "s.yaml") || j.ModelName != "script:s.yaml" {
		t.Errorf("model %q, called %q", j.Model, j.ModelName)
	}
}

func TestMergeKeysAndAnchorsExpand(t *testing.T) {
	p := mustLoad(t, `version: 1
model: openai/m
tasks:
  - &base
    id: a
    prompt: p
    limits: &limits {turns: 3, denials: 4}
    vars: &vars {x: 1, y: 2}
  - <<: *base
    id: b
    limits: {<<: *limits, turns: 9}
    vars: {y: 3, <<: [*vars, {y: 4, z: 5}]}
    prompt: ${{ vars.x }}${{ vars.y }}${{ vars.z }}
`, tasks.Overrides{})
	if got := p.Jobs[1]; got.Prompt != "135" || got.Limits.Turns != 9 || got.Limits.Denials != 4 {
		t.Errorf("prompt %q, limits %+v", got.Prompt, got.Limits)
	}
	if got := p.Jobs[0].Limits.Turns; got != 3 {
		t.Errorf("turns of the base: %d", got)
	}
}

func TestNeedsStayOnTheirRepository(t *testing.T) {
	manifest := head + `repos: [{path: one}, {path: two}]
tasks:
  - {id: a, prompt: p}
  - {id: b, prompt: p, needs: [a, a]}
  - {id: c, prompt: p, repos: [{path: three}], needs: [b]}
`
	files := map[string]string{"one/": "", "two/": "", "three/": ""}
	for _, tt := range []struct {
		name string
		only []string
		want map[string][]string
	}{
		{"all", nil, map[string][]string{"a-one": nil, "a-two": nil, "b-one": {"a-one"}, "b-two": {"a-two"}, "c": {"b-one", "b-two"}}},
		{"some", []string{"b", "c", "a-one"}, map[string][]string{"a-one": nil, "b-one": {"a-one"}, "b-two": nil, "c": {"b-one", "b-two"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, manifest, files, tasks.Overrides{Only: tt.only})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, j := range p.Jobs {
				got[j.ID] = j.Needs
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

// The error of loading names what was loaded when the context ended, and the cause.
func TestLoadingEndsWithItsContext(t *testing.T) {
	cause := errors.New("cause")
	blocked := make(chan struct{})
	defer close(blocked)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := options(dirWith(t, nil))
	o.Stdin = func() ([]byte, error) {
		cancel(cause)
		<-blocked
		return nil, nil
	}
	for _, tt := range []struct { // the first one ends the context
		want string
		load func() error
	}{
		{"load -", func() error { _, err := Load(ctx, []string{"-"}, o); return err }},
		{"load profile x of -", func() error { _, err := manifest.LoadProfile(ctx, "x", "-", o); return err }},
		{"load a, -", func() error { _, err := manifest.LoadForges(ctx, []string{"a", "-"}, o); return err }},
		{"load policy p", func() error { _, err := manifest.LoadPolicy(ctx, "p", o); return err }},
		{"load schema", func() error { _, err := ReadSchema(ctx, "schema"); return err }},
	} {
		if err := tt.load(); !errors.Is(err, cause) || err.Error() != tt.want+": cause" {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}
