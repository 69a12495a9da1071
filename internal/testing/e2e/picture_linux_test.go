package e2e

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
	"github.com/millhand/millhand/internal/testing/viewtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// volatile matches what differs between two runs of the quickstart.
var volatile = regexp.MustCompile(`\d+(\.\d+)?m?s\b|\d{8}-\d{6}-[0-9a-f]{8}|millhand-[0-9a-f]{8}|[0-9a-f]{10}[ \x{a0}]on|@[0-9a-f]{7}|sandbox \w+|\(cached\)|textLength="\d+"|y="[\d.]+"|[ \x{a0}]+`)

// TestPictureOfTheQuickstart runs the quickstart on a terminal, and holds docs/quickstart.svg
// to it, except for times, names of runs and commits, and the order of parallel calls. The
// picture leaves out the middle of the log.
func TestPictureOfTheQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples/quickstart"), os.DirFS(filepath.Join(scripts.Root(t), "examples/quickstart"))); err != nil {
		t.Fatal(err)
	}
	v := inTerminal(t, 112, 60, dir, "bash", "--norc", "--noediting", "-c",
		"echo '$ millhand run examples/quickstart/millhand.yaml'; millhand run examples/quickstart/millhand.yaml")
	v.waitFor("show them: ")
	shown := &viewtest.Terminal{TB: t, Cols: v.cols, Rows: v.rows}
	shown.Write(bytes.ReplaceAll(v.recorded(), []byte(os.TempDir()+"/millhand-"), []byte("/tmp/millhand-")))
	rows := strings.Split(shown.String(), "\n")
	found := func(from int, text string) int {
		i := slices.IndexFunc(rows[from:], func(row string) bool { return strings.Contains(row, text) })
		if i < 0 {
			t.Fatalf("no row with %q:\n%s", text, shown)
		}
		return from + i
	}
	baseline := found(0, "baseline: verify tests failed")
	failed := found(baseline+1, "verify tests failed")
	table := found(failed, "OUTCOME")
	var picked []int
	for i := 0; i <= table+1; i++ {
		if i == baseline+1 {
			picked, i = append(picked, -1), failed
		}
		picked = append(picked, i)
	}
	got := shown.SVG("millhand runs the quickstart: an attempt, failed tests, a second attempt, a commit, the result", picked)

	picture := filepath.Join(scripts.Root(t), "docs/quickstart.svg")
	old, err := os.ReadFile(picture)
	if err != nil && !*update {
		t.Fatal(err)
	}
	stable := func(svg string) []string {
		lines := strings.Split(volatile.ReplaceAllString(svg, "~"), "\n")
		slices.Sort(lines)
		return lines
	}
	diff := cmp.Diff(stable(string(old)), stable(got))
	switch {
	case diff == "": // the picture keeps its times
	case *update:
		if err := os.WriteFile(picture, []byte(got), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/quickstart.svg: run make golden (-want +got)\n%s", diff)
	}
}
