package access_test

import (
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/access"
)

// Where a report directory lies in the workspace, no tool gets at it, whatever the
// rules allow, except to read saved outputs.
func TestReportsInTheWorkspaceAreInaccessible(t *testing.T) {
	s := tooltest.SetUp(t, "full", map[string]string{"sub/.millhand/runs/1/report.json": "needle\n", "file": "needle\n"})
	dir := filepath.Join(s.Dir, "sub/.millhand/runs")
	s.Equip(func(env *tools.Env) {
		env.Private = []string{dir}
		env.Outputs = tooltest.OutputsIn(t, filepath.Join(dir, "1"))
	})
	s.Symlink("sub/.millhand", "way")
	before := s.Tree()
	const file = "sub/.millhand/runs/1/report.json"
	for _, c := range []struct {
		tool  string
		input tooltest.Args
	}{
		{"read", tooltest.Args{"filePath": file}},
		{"read", tooltest.Args{"filePath": filepath.Join(s.Dir, file)}},
		{"read", tooltest.Args{"filePath": "way/runs/1/report.json"}},
		{"write", tooltest.Args{"filePath": file, "content": "x"}},
		{"write", tooltest.Args{"filePath": "sub/.millhand/runs/2/report.json", "content": "x"}},
		{"edit", tooltest.Args{"filePath": file, "oldString": "needle", "newString": "x"}},
		{"apply_patch", tooltest.Args{"patchText": "*** Begin Patch\n*** Delete File: " + file + "\n*** End Patch"}},
		{"apply_patch", tooltest.Args{"patchText": "*** Begin Patch\n*** Update File: file\n*** Move to: " + file + "\n@@\n-needle\n+x\n*** End Patch"}},
		{"list", tooltest.Args{"path": "sub/.millhand/runs"}},
		{"grep", tooltest.Args{"pattern": "needle", "path": file}},
		{"glob", tooltest.Args{"pattern": "*", "path": "sub/.millhand/runs/1"}},
		{"bash", tooltest.Args{"command": "cat " + file}},
		{"bash", tooltest.Args{"command": "rm -rf sub/.millhand/runs"}},
		{"bash", tooltest.Args{"command": "ls", "workdir": "sub/.millhand/runs/1"}},
	} {
		s.Want(s.Call(c.tool, c.input), tools.Denied)
	}
	s.Want(s.Call("grep", tooltest.Args{"pattern": "needle"}), tools.Completed, "Found 1 match")
	s.Unchanged(before)
	saved := s.Call("bash", tooltest.Args{"command": "seq 1 100000"}).Metadata.OutputPath
	s.Want(s.Call("read", tooltest.Args{"filePath": saved, "offset": 50_000, "limit": 1}), tools.Completed, "50000: 50000\n")
	s.Want(s.Call("bash", tooltest.Args{"command": "head -n 1 " + saved}), tools.Completed, "1\n")
	s.Want(s.Call("write", tooltest.Args{"filePath": saved, "content": "x"}), tools.Denied)
}

// A search asks about each file of a tree.
func TestReadableInATree(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	for _, c := range []struct {
		private, rel string
		want         bool
	}{
		{"runs", "runs/1/report.json", false},
		{"runs/", "runs", false},
		{"runs", "runs2/report.json", true},
		{"a/runs", "runs/report.json", true},
		{"a/../runs", "runs/report.json", false},
		{".", "file", false},
		{"..", "file", false},
		{"../..", "a/file", false},
		{"../other", "other/file", true},
		{"..runs", "..runs/file", false},
	} {
		s.Equip(func(env *tools.Env) {
			env.Private = []string{s.Dir + "/" + c.private}
			if got := (&access.Paths{Profile: &s.Env.Profile, Private: s.Env.Private}).ReadableIn(s.Dir, true)(c.rel); got != c.want {
				t.Errorf("%s with the private directory %s: %t, want %t", c.rel, c.private, got, c.want)
			}
		})
	}
}
