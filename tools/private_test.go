package tools

import (
	"path/filepath"
	"testing"
)

// Where a report directory lies in the workspace, no tool gets at it, whatever the
// rules allow, except to read kept outputs.
func TestReportsInTheWorkspaceAreInaccessible(t *testing.T) {
	s := setUp(t, "full", map[string]string{"sub/.millhand/runs/1/report.json": "needle\n", "file": "needle\n"})
	dir := filepath.Join(s.dir, "sub/.millhand/runs")
	s.equip(func(env *Env) {
		env.Private = []string{dir}
		env.Outputs = outputsIn(t, filepath.Join(dir, "1"))
	})
	s.symlink("sub/.millhand", "way")
	before := s.tree()
	const file = "sub/.millhand/runs/1/report.json"
	for _, c := range []struct {
		tool  string
		input args
	}{
		{"read", args{"filePath": file}},
		{"read", args{"filePath": filepath.Join(s.dir, file)}},
		{"read", args{"filePath": "way/runs/1/report.json"}},
		{"write", args{"filePath": file, "content": "x"}},
		{"write", args{"filePath": "sub/.millhand/runs/2/report.json", "content": "x"}},
		{"edit", args{"filePath": file, "oldString": "needle", "newString": "x"}},
		{"apply_patch", args{"patchText": "*** Begin Patch\n*** Delete File: " + file + "\n*** End Patch"}},
		{"apply_patch", args{"patchText": "*** Begin Patch\n*** Update File: file\n*** Move to: " + file + "\n@@\n-needle\n+x\n*** End Patch"}},
		{"list", args{"path": "sub/.millhand/runs"}},
		{"grep", args{"pattern": "needle", "path": file}},
		{"glob", args{"pattern": "*", "path": "sub/.millhand/runs/1"}},
		{"bash", args{"command": "cat " + file}},
		{"bash", args{"command": "rm -rf sub/.millhand/runs"}},
		{"bash", args{"command": "ls", "workdir": "sub/.millhand/runs/1"}},
	} {
		s.want(s.call(c.tool, c.input), Denied)
	}
	s.want(s.call("grep", args{"pattern": "needle"}), Completed, "Found 1 match")
	s.unchanged(before)
	saved := s.call("bash", args{"command": "seq 1 100000"}).Metadata.OutputPath
	s.want(s.call("read", args{"filePath": saved, "offset": 50_000, "limit": 1}), Completed, "50000: 50000\n")
	s.want(s.call("bash", args{"command": "head -n 1 " + saved}), Completed, "1\n")
	s.want(s.call("write", args{"filePath": saved, "content": "x"}), Denied)
}

// A search asks about each file of a tree.
func TestReadableInATree(t *testing.T) {
	s := setUp(t, "full", nil)
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
		s.equip(func(env *Env) {
			env.Private = []string{s.dir + "/" + c.private}
			if got := env.readableIn(s.dir, true)(c.rel); got != c.want {
				t.Errorf("%s with the private directory %s: %t, want %t", c.rel, c.private, got, c.want)
			}
		})
	}
}
