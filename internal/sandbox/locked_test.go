//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// At level Full, files and directories in the workspace can be read-only. A command can
// still rename a directory above them; the next command then runs without them.
func TestLockedPaths(t *testing.T) {
	if !slices.Contains(confining(), Full) {
		t.Skip("level A is not supported here")
	}
	p := newFixture(t)
	unguarded(t, p.workspace, `mkdir -p ci docs "$OUT/dir" && echo one >ci/x && echo one >docs/A && echo one >A && echo one >"$OUT/dir/A"`, "OUT="+p.outside)
	spec := p.spec()
	for _, name := range []string{"ci", "docs/A", "A", "missing"} {
		spec.Locked = append(spec.Locked, filepath.Join(p.workspace, name))
	}
	s := inside(t, spec, Full)
	for _, line := range []string{
		"echo two >ci/x", "echo two >ci/y", "rm ci/x", "mv ci ci2", "rm -r ci", "echo two >A", "rm A", "echo two >B; mv B A", "echo two >docs/A",
	} {
		if got := bash(t, s, "cat A docs/A ci/x >/dev/null && "+line); got.ending.ExitCode == 0 || got.err != nil {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, step := range []struct{ line, want string }{
		{"echo two >docs/B && echo two >missing && cat docs/B missing", "two\ntwo\n"},
		{"mv docs docs2 && echo moved", "moved\n"},
		{"cat docs2/A; cat docs/A 2>/dev/null", "one\n"},
		{`ln -s "$OUT/dir" docs; cat docs2/A`, "one\n"},
		{"cat docs2/A", "one\n"}, // docs/A is now behind a symlink
		{"rm docs && echo file >docs && cat docs2/A", "one\n"},
		{"rm docs && mkdir -p docs/A && cat docs2/A", "one\n"},
		{"echo two >docs/A/x; cat docs/A/x 2>&1", "*"},
	} {
		if got := bash(t, s, step.line, "OUT="+p.outside); got.err != nil || step.want != "*" && got.output != step.want {
			t.Errorf("%s: %q, %v", step.line, got.output, got.err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(p.workspace, "A")); err != nil || string(text) != "one\n" {
		t.Errorf("A is %q, %v", text, err)
	}
}
