package hunks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
)

// shape is a change with something planted: its hunks have the word plant, and nothing else has it.
type shape struct {
	name    string
	plant   func(l *language, lib *library, files, cases map[string]string)
	chosen  int // hunks that are unneeded beside those that are planted: one of two that do the same
	deleted int // assertions
}

func shapes() []shape {
	return []shape{
		{name: "a comment", plant: func(l *language, lib *library, _, _ map[string]string) {
			lib.after["beta"] = fmt.Sprintf(l.comment, "plant")
		}},
		{name: "a dead function", plant: func(l *language, lib *library, _, _ map[string]string) {
			lib.after["beta"] = l.dead("lost", fmt.Sprintf(l.sum, 9))
		}},
		{name: "a dead file", plant: func(l *language, _ *library, files, _ map[string]string) {
			files[l.module] = fmt.Sprintf(l.head, "") + l.dead("lost", fmt.Sprintf(l.sum, 9)) + l.foot
		}},
		{name: "dead code in a file that is needed", plant: func(l *language, lib *library, files, _ map[string]string) {
			lib.imports, lib.calls["alpha"] = l.load, l.loaded
			files[strings.Replace(l.module, "plant", "more", 1)] = l.start + l.one("more", fmt.Sprintf(l.sum, 1)) + l.dead("lost", fmt.Sprintf(l.sum, 9)) + "\n" + l.foot
		}},
		{name: "dead code that needs dead code", plant: func(l *language, lib *library, _, _ map[string]string) {
			lib.after["alpha"] = l.dead("lost", fmt.Sprintf(l.sum, 9))
			lib.after["gamma"] = l.dead("lost_too", fmt.Sprintf(l.call, "lost"))
		}},
		{name: "an import of dead code", plant: func(l *language, lib *library, _, _ map[string]string) {
			lib.imports = l.imports
			lib.after["gamma"] = l.dead("lost", l.use)
		}},
		{name: "two hunks that do the same", chosen: 1, plant: func(l *language, lib *library, _, cases map[string]string) {
			lib.values["beta"], lib.values["delta"] = 5, 5
			cases["either"] = fmt.Sprintf(l.either, "either", "beta", 8, "delta")
		}},
		{name: "a test that can't fail", plant: func(l *language, _ *library, _, cases map[string]string) {
			cases["plant"] = fmt.Sprintf(l.trivial, "plant")
		}},
		{name: "nothing, and a lost assertion", deleted: 1, plant: func(_ *language, _ *library, _, cases map[string]string) { delete(cases, "beta") }},
	}
}

// change returns the files of a repository before and after a change that needs two of its hunks.
func change(l *language, s shape) (before, after map[string]string) {
	lib := library{values: map[string]int{}, calls: map[string]string{}, after: map[string]string{}}
	cases := map[string]string{"beta": fmt.Sprintf(l.test, "beta", "beta", 3)}
	before = l.testFiles(cases)
	maps.Copy(before, l.fixed)
	before[l.lib] = l.library(lib)
	lib.values["alpha"], lib.values["gamma"] = 1, 2
	cases["alpha"], cases["gamma"] = fmt.Sprintf(l.test, "alpha", "alpha", 4), fmt.Sprintf(l.test, "gamma", "gamma", 5)
	if s.chosen > 0 {
		delete(cases, "beta") // it changes
	}
	files := map[string]string{}
	s.plant(l, &lib, files, cases)
	after = l.testFiles(cases)
	maps.Copy(after, files)
	after[l.lib] = l.library(lib)
	return before, after
}

// run runs a task that makes the change, and returns its hunks.
func run(t *testing.T, l *language, before, after map[string]string) *event.Hunks {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	for name, text := range before {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, repo, "git", "init", "-q")
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")
	type call struct {
		Tool string            `json:"tool"`
		Args map[string]string `json:"args"`
	}
	var calls []call
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			calls = append(calls, call{"write", map[string]string{"filePath": name, "content": after[name]}})
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok && l.fixed[name] == "" {
			calls = append(calls, call{"bash", map[string]string{"command": "rm " + name, "description": "remove"}})
		}
	}
	write(t, filepath.Join(dir, "model.yaml"), map[string]any{"version": 1, "turns": []any{map[string]any{"calls": calls}, map[string]any{"text": "Done."}}})
	write(t, filepath.Join(dir, "work.yaml"), map[string]any{"version": 1, "model": "script:model.yaml", "profile": "build", "tasks": []any{map[string]any{
		"id": "change", "prompt": "Go.", "verify": []any{map[string]any{"name": "tests", "run": l.verify}}, "ablate": map[string]any{"jobs": 2, "time": "20m"},
	}}})
	command(t, repo, "millhand", "run", "../work.yaml", "--report-dir", "../report")
	data, err := os.ReadFile(filepath.Join(dir, "report", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Jobs []struct {
			Hunks *event.Hunks `json:"hunks"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(data, &report); err != nil || report.Jobs[0].Hunks == nil {
		t.Fatalf("%v: %s", err, data)
	}
	return report.Jobs[0].Hunks
}

func write(t *testing.T, file string, value any) {
	t.Helper()
	data, err := json.Marshal(value) // which is YAML
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out.String())
	}
}

// judge compares the account with what was planted.
func judge(t *testing.T, s shape, after map[string]string, h *event.Hunks) {
	t.Helper()
	chosen := 0
	for _, hunk := range h.List {
		lines := strings.SplitAfter(after[hunk.Path], "\n")
		planted := strings.Contains(after[hunk.Path], "plant")
		if hunk.Kind == "lines" {
			planted = strings.Contains(strings.Join(lines[hunk.Line-1:hunk.Line-1+hunk.Added], ""), "plant")
		}
		switch want := map[bool]string{true: "unneeded", false: "needed"}[planted]; {
		case hunk.State == want:
		case !planted && hunk.State == "unneeded" && chosen < s.chosen:
			chosen++
		default:
			t.Errorf("%s is %s by %q, want %s", hunk.String(), hunk.State, hunk.By, want)
		}
	}
	if chosen != s.chosen {
		t.Errorf("%d of the hunks that do the same are unneeded, want %d", chosen, s.chosen)
	}
	for _, test := range h.Tests {
		planted := strings.Contains(test.String(), "plant")
		if test.FailsOnBase == nil || *test.FailsOnBase == planted {
			t.Errorf("%s fails on the base: %v", test, test.FailsOnBase)
		}
	}
	if deleted := len(h.Assertions); s.deleted > 0 && deleted == 0 {
		t.Errorf("no assertion is listed")
	}
	if h.Runs > h.MaxRuns || len(h.Flaky) > 0 || h.Reason != "" || h.Untried > 0 || len(h.Tests) < 2 {
		t.Errorf("%+v", h)
	}
}

// What is planted in 45 changes of five languages is found, and nothing else is named, within the number of runs that was stated
// before.
func TestPlantedHunksAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the tests of other languages many times")
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "language\tplanted\thunks\tunneeded\ttests\truns\tat most\tseconds")
	all := languages()
	shapes := shapes()
	for i := range nightly.Count(len(all), len(all)*len(shapes), len(all)*len(shapes)) {
		l := &all[i%len(all)]
		s := shapes[(i%len(all)+i/len(all))%len(shapes)]
		if program := strings.Fields(strings.TrimPrefix(l.verify, "for t in "))[0]; !strings.HasPrefix(l.verify, "for") {
			if _, err := exec.LookPath(program); err != nil {
				continue
			}
		}
		t.Run(l.name+"/"+s.name, func(t *testing.T) {
			before, after := change(l, s)
			h := run(t, l, before, after)
			judge(t, s, after, h)
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.1f\n", l.name, s.name, h.Needed+h.Unneeded, h.Unneeded, len(h.Tests), h.Runs, h.MaxRuns, float64(h.ElapsedMS)/1000)
		})
	}
	w.Flush()
	t.Log("\n" + table.String())
}
