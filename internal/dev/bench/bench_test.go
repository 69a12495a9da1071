//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/proc/signals"
)

// TestMain lets the test program be the floor, as bench itself is, and millhand
// where it has its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "millhand" {
		command.Start(signals.Catch(), command.SameSignal)
	}
	if len(os.Args) > 1 && (os.Args[1] == "-floor" || os.Args[1] == "-server") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestConversationUsesToolsInProportion(t *testing.T) {
	var paths []string
	for i := range 200 {
		paths = append(paths, fmt.Sprint("f", i))
	}
	for _, blocks := range []int{1, 10} {
		text, err := conversation(paths, 20*blocks, allTools)
		if err != nil {
			t.Fatal(err)
		}
		s, err := script.Parse(text, "s")
		if err != nil {
			t.Fatal(err)
		}
		turns, err := s.Turns("")
		if err != nil {
			t.Fatal(err)
		}
		got, edited := map[string]int{}, map[string]bool{}
		for _, turn := range turns {
			for _, c := range turn.Calls {
				got[c.Name]++
				if c.Name == "edit" {
					edited[c.Input] = true
				}
			}
		}
		want := map[string]int{"read": 8 * blocks, "grep": 4 * blocks, "glob": 2 * blocks, "edit": 4 * blocks, "bash": 2 * blocks}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(edited) != 4*blocks || len(turns) != 20*blocks+1 {
			t.Errorf("%d different edits in %d turns: %v", len(edited), len(turns), slices.Sorted(maps.Keys(edited)))
		}
	}
}

// TestAllVariantsGiveTheSameResult relies on play, which compares the trees.
func TestAllVariantsGiveTheSameResult(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a session of each variant")
	}
	b := openTestBench(t)
	before, err := output(b.command(t.Context(), b.original, "git", "rev-parse", "HEAD^{tree}"))
	if err != nil {
		t.Fatal(err)
	}
	w := work{turns: 20, rounds: 1}
	if err := b.play(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	changed, err := output(b.command(t.Context(), b.repo, "git", "diff", "--shortstat", before, "millhand/count"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "4 files changed, 4 insertions(+), 4 deletions(-)"; changed != want {
		t.Errorf("the commit has %q, want %q", changed, want)
	}
	for _, took := range [][]usage{w.floor, w.bare, w.plain, w.usual} {
		if len(took) != 1 {
			t.Fatalf("%d rounds were noted, want 1", len(took))
		}
		if u := took[0]; u.first <= 0 || u.first >= u.wall || u.cpu <= 0 || u.peak <= 0 || u.request <= 0 {
			t.Errorf("not measured: %+v", u)
		}
	}
}

func openTestBench(t *testing.T) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "millhand")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	b, err := openBench(t.Context(), t.TempDir(), program, 200)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestExtensionsAreMeasured runs the sessions with extensions once.
func TestExtensionsAreMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("runs several sessions")
	}
	rows, err := openTestBench(t).extensions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 5 {
		t.Fatalf("%d rows, want those of servers at least", len(rows))
	}
	for _, r := range rows {
		if len(r.millhand) != 1 {
			t.Errorf("%s: %d rounds, want 1", r.figure, len(r.millhand))
		}
	}
}

func TestSearchingWithoutRipgrepFindsTheSame(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"a/b.go": "x\nfunc order123(a int)\ny\nfunc order124(", "c.go": "func other()\n", ".git/d.go": "func order125("} {
		if err := write(dir, path, text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readThrough(dir, `func order1\d\d\(`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a/b.go:2:func order123(a int)\na/b.go:4:func order124(\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTableShowsGoalsOfValuesAndRatios(t *testing.T) {
	var figures []figure
	for _, r := range []row{
		row{figure: "met", unit: "ms", millhand: series{3, 1, 2}}.atMost(2, "4 ms"),
		row{figure: "missed", unit: "ms", millhand: series{30, 50}, floor: series{10, 25}}.timesFloor(2, "5 ×"),
		{figure: "free", unit: "kB", millhand: series{123.4}, floor: series{12.34}},
		{figure: "for scale", unit: "ms", floor: series{7}},
	} {
		figures = append(figures, r.result("some", "2026-11-26"))
	}
	want := strings.Join([]string{
		"| figure | unit | millhand | floor | ratio | goal | met | release candidate | measured |",
		"|---|---|---|---|---|---|---|---|---|",
		"| met | ms | 2.00 (1.00 to 3.00) |  |  | ≤ 2 ms | yes | 4 ms | 2026-11-26 |",
		"| missed | ms | 40.0 (30.0 to 50.0) | 17.5 (10.0 to 25.0) | 2.50 (2.00 to 3.00) | ≤ 2 × | **no** | 5 × | 2026-11-26 |",
		"| free | kB | 123 | 12.3 | 10.0 |  |  |  | 2026-11-26 |",
		"| for scale | ms |  | 7.00 |  |  |  |  | 2026-11-26 |", "",
	}, "\n")
	if diff := cmp.Diff(want, markdown(figures)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResultsAreWrittenAsJSON(t *testing.T) {
	date := "2026-11-26"
	r := results{Machine: "m", Date: date, Rounds: 2, LoadBefore: "0.1", LoadAfter: "0.2", Figures: []figure{
		row{figure: "missed", unit: "ms", millhand: series{30, 50}, floor: series{10, 25}}.timesFloor(2, "5 ×").result("some", date),
		row{figure: "free", unit: "kB", millhand: series{123.4}}.result("some", date),
	}}
	file := filepath.Join(t.TempDir(), "results.json")
	if err := r.print(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"machine": "m", "date": date, "rounds": 2.0, "load_before": "0.1", "load_after": "0.2",
		"figures": []any{
			map[string]any{
				"group": "some", "figure": "missed", "unit": "ms", "millhand": []any{30.0, 50.0}, "floor": []any{10.0, 25.0},
				"ratio": []any{3.0, 2.0}, "goal": 2.0, "goal_of": "ratio", "met": false, "release_candidate": "5 ×", "measured": date,
			},
			map[string]any{"group": "some", "figure": "free", "unit": "kB", "millhand": []any{123.4}, "measured": date},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroupsAreSelectedByName(t *testing.T) {
	list, err := selected("plan,start")
	if got := groupNames(list); err != nil || !slices.Equal(got, []string{"plan", "start"}) {
		t.Errorf("selected %q, error %v", got, err)
	}
	if all, err := selected(""); err != nil || len(all) != len(groups()) {
		t.Errorf("selected %d groups, error %v", len(all), err)
	}
	if _, err := selected("start,starts"); err == nil || !strings.Contains(err.Error(), `unknown group "starts"`) {
		t.Errorf("error %v", err)
	}
}
