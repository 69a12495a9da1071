package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/patch"
)

func TestApplyPatchAppliesAllSections(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\ntwo\nthree\n", "gone.txt": "x\n", "old/run.sh": "echo 1\n", "crlf.txt": "a\r\nb\r\n"})
	if err := os.Chmod(filepath.Join(s.Dir, "old/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := s.Call("apply_patch", tooltest.PatchOf(
		"*** Add File: new/deep/b.txt", "+hello", "*** Update File: a.txt", "@@", " one", "-two", "+TWO", " three", "*** Delete File: gone.txt",
		"*** Update File: old/run.sh", "*** Move to: bin/run.sh", "@@", "-echo 1", "+echo 2", "*** Update File: crlf.txt", "@@", "-b", "+B",
	))
	s.Want(out, tools.Completed)
	want := "Success. Updated the following files:\nA new/deep/b.txt\nM a.txt\nD gone.txt\nR old/run.sh -> bin/run.sh\nM crlf.txt"
	if diff := cmp.Diff(tooltest.Sorted(strings.Split(want, "\n")), tooltest.Sorted(strings.Split(out.Output, "\n"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a.txt", "bin/run.sh", "crlf.txt", "new/deep/b.txt"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{"a.txt": "one\nTWO\nthree\n", "bin/run.sh": "echo 2\n", "crlf.txt": "a\r\nB\r\n", "new/deep/b.txt": "hello\n"} {
		if got := s.Content(name); got != text {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if st, err := os.Stat(filepath.Join(s.Dir, "bin/run.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	wantCounts(t, out, 4, 4)
	s.Want(s.Call("edit", tooltest.Args{"filePath": "a.txt", "oldString": "TWO", "newString": "2"}), tools.Completed) // what it wrote it has seen
}

func TestApplyPatchIsAtomic(t *testing.T) {
	files := map[string]string{"a.txt": "one\n", "b.txt": "two\n", "sub/x": "", "twin.txt": "t\n"}
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"a hunk that is nowhere", []string{"*** Update File: a.txt", "@@", "-one", "+1", "*** Update File: b.txt", "@@", "-nowhere", "+x"}, "b.txt"},
		{"a file that is not there", []string{"*** Delete File: a.txt", "*** Delete File: missing.txt"}, "missing.txt: file not found"},
		{"a directory", []string{"*** Add File: new.txt", "+x", "*** Delete File: sub"}, "sub is a directory"},
		{"a file as a directory", []string{"*** Update File: a.txt", "@@", "-one", "+1", "*** Add File: b.txt/x", "+x"}, "not a directory"},
		{"the same file by two names", []string{"*** Update File: twin.txt", "@@", "-t", "+1", "*** Delete File: same.txt"}, "twin.txt and same.txt are the same file"},
		{"a link to be deleted", []string{"*** Update File: a.txt", "@@", "-one", "+1", "*** Delete File: same.txt"}, "same.txt is a symlink"},
		{"a link to be moved", []string{"*** Update File: same.txt", "*** Move to: c.txt", "@@", "-t", "+1"}, "same.txt is a symlink"},
		{"no change", []string{"*** Update File: a.txt", "@@", "-one", "+one"}, "changes nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "edit", files)
			s.Symlink("twin.txt", "same.txt")
			before := s.Tree()
			s.Want(s.Call("apply_patch", tooltest.PatchOf(tt.lines...)), tools.Failed, "patch not applied: ", tt.want)
			s.Unchanged(before)
		})
	}
	s := tooltest.SetUp(t, "edit", files)
	before := s.Tree()
	for _, text := range []string{"", "*** Begin Patch", "*** Begin Patch\n*** End Patch", "just words", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1"} {
		s.Want(s.Call("apply_patch", tooltest.Args{"patchText": text}), tools.Failed, "invalid patch: ")
	}
	s.Unchanged(before)
}

// The disk fails in the middle: what was written is restored.
func TestApplyPatchRollsBack(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"})
	if err := os.Chmod(filepath.Join(s.Dir, "b.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	paths := map[string]workspace.Path{}
	writes := []patch.Write{
		{Path: "new/deep/n.txt", Content: []byte("new\n")},
		{Path: "a.txt", Content: []byte("1\n"), Existed: true, Before: []byte("one\n")},
		{Path: "moved.txt", Content: []byte("2\n"), From: "b.txt"},
		{Path: "b.txt", Delete: true, To: "moved.txt", Existed: true, Before: []byte("two\n")},
		{Path: "c.txt/impossible", Content: []byte("x")},
	}
	for _, w := range writes {
		p, err := s.Env.Workspace.Resolve(w.Path)
		if err != nil {
			t.Fatal(err)
		}
		paths[w.Path] = p
	}
	names := s.Names()
	if err := file.PerformPatch(s.Env.Workspace, paths, writes); err == nil || !strings.Contains(err.Error(), "c.txt/impossible") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(names, s.Names()); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"} {
		if got := s.Content(name); got != text {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if st, err := os.Stat(filepath.Join(s.Dir, "b.txt")); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a directory was left behind")
	}
}

func TestApplyPatchIsDecidedOnEveryPath(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "keep/b.txt": "two\n", ".git/config": "[core]\n"})
	s.Deny("edit", "keep/*")
	s.Symlink(s.Outside, "out")
	before := s.Tree()
	for _, target := range []string{"keep/new.txt", ".git/hooks/x", ".GIT/x", "../work-beside/new", "out/new", s.Outside + "/new", "keep/../keep/x", "/proc/self/comm"} {
		for name, lines := range map[string][]string{
			"add":  {"*** Add File: a2.txt", "+x", "*** Add File: " + target, "+x"},
			"move": {"*** Update File: a.txt", "*** Move to: " + target, "@@", "-one", "+1"},
		} {
			if out := s.Call("apply_patch", tooltest.PatchOf(lines...)); out.Status != tools.Denied {
				t.Errorf("%s %s ended %s: %s", name, target, out.Status, out.Text())
			}
		}
	}
	for _, source := range []string{"keep/b.txt", ".git/config", "../work-beside/secret", "out/secret"} {
		for name, lines := range map[string][]string{
			"delete": {"*** Delete File: " + source},
			"update": {"*** Update File: " + source, "@@", "-two", "+x"},
			"move":   {"*** Update File: " + source, "*** Move to: stolen.txt", "@@", "-two", "+x"},
		} {
			if out := s.Call("apply_patch", tooltest.PatchOf(lines...)); out.Status != tools.Denied {
				t.Errorf("%s %s ended %s: %s", name, source, out.Status, out.Text())
			}
		}
	}
	s.Unchanged(before)
}

func TestApplyPatchOutsideUnderARule(t *testing.T) {
	s := tooltest.SetUp(t, "edit", nil)
	s.Allow("external_directory", s.Outside+"/*")
	s.Want(s.Call("apply_patch", tooltest.PatchOf("*** Update File: "+s.Outside+"/secret", "@@", "-s3cret", "+open", "*** Add File: "+s.Outside+"/new", "+x")), tools.Completed)
	s.Want(s.Call("apply_patch", tooltest.PatchOf("*** Delete File: "+s.Outside+"/new")), tools.Completed)
	if got := s.Content("../work-beside/secret"); got != "open\n" {
		t.Errorf("it holds %q", got)
	}
	if _, err := os.Stat(s.Outside + "/new"); err == nil {
		t.Error("it is still there")
	}
}

func TestApplyPatchDetectsWritesByOthers(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed)
	s.Put("a.txt", "somebody else's\n")
	for _, lines := range [][]string{{"*** Update File: a.txt", "@@", "-one", "+1"}, {"*** Delete File: a.txt"}, {"*** Add File: a.txt", "+x"}, {"*** Update File: b.txt", "*** Move to: a.txt", "@@", "-two", "+x"}} {
		s.Want(s.Call("apply_patch", tooltest.PatchOf(lines...)), tools.Failed, "a.txt was modified on disk since you last read or wrote it; read it again first")
	}
}

func TestApplyPatchReportsReplacedTargets(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "b.txt": "two\nthree\n"})
	out := s.Call("apply_patch", tooltest.PatchOf("*** Update File: a.txt", "*** Move to: b.txt"))
	s.Want(out, tools.Completed, "R a.txt -> b.txt (replaced the existing b.txt)")
	wantCounts(t, out, 0, 2)
	s.Put("c.txt", "four\n")
	out = s.Call("apply_patch", tooltest.PatchOf("*** Update File: b.txt", "*** Move to: d.txt", "*** Update File: c.txt", "*** Move to: b.txt"))
	s.Want(out, tools.Completed)
	if strings.Contains(out.Output, "replaced") {
		t.Errorf("nothing is lost, but the model reads %s", out.Output)
	}
}

func TestApplyPatchRestoresModesOfMovedFiles(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
	modes := map[string]os.FileMode{"a": 0o755, "b": 0o600, "c": 0o644}
	for name, mode := range modes {
		if err := os.Chmod(filepath.Join(s.Dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	s.Want(s.Call("apply_patch", tooltest.PatchOf("*** Update File: a", "*** Move to: t", "*** Update File: b", "*** Move to: a", "*** Update File: t", "*** Move to: b")), tools.Completed)
	if got := map[string]os.FileMode{"a": s.Mode("a"), "b": s.Mode("b"), "c": s.Mode("c")}; got["a"] != 0o600 || got["b"] != 0o755 {
		t.Errorf("the modes did not move: %v", got)
	}
	paths := map[string]workspace.Path{}
	for _, name := range []string{"a", "b", "c/impossible"} {
		paths[name], _ = s.Env.Workspace.Resolve(name)
	}
	err := file.PerformPatch(s.Env.Workspace, paths, []patch.Write{{Path: "b", Content: []byte("b\n"), From: "a", Existed: true, Before: []byte("a\n")}, {Path: "c/impossible", Content: []byte("x")}})
	if err == nil || s.Mode("b") != 0o755 || s.Content("b") != "a\n" {
		t.Errorf("%v; b has the mode %v", err, s.Mode("b"))
	}
}

func TestApplyPatchCountsTheLinesOfLargeFiles(t *testing.T) {
	large := strings.Repeat(strings.Repeat("x", 99)+"\n", 4000)
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\ntwo\n" + large})
	out := s.Call("apply_patch", tooltest.PatchOf("*** Update File: a.txt", "@@", "-one", "+1", "+1.5", " two", "*** Add File: b.txt", strings.TrimSuffix(strings.ReplaceAll("\n"+large, "\n", "\n+"), "+")[1:]))
	s.Want(out, tools.Completed)
	wantCounts(t, out, 4002, 1)
}

// wantCounts checks the counts of lines that a call added and removed.
func wantCounts(t *testing.T, out tools.Outcome, added, removed int) {
	t.Helper()
	if diff := cmp.Diff(tools.Metadata{Added: &added, Removed: &removed}, out.Metadata); diff != "" {
		t.Error(diff)
	}
}

// A directory that became a symlink was not created by the patch, which would
// remove again.
func TestApplyPatchDoesNotFollowASymlinkInPlaceOfADirectoryItCreated(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	s.Symlink(s.Outside, "l")
	if got := file.MissingDirs(s.Env.Workspace, workspace.Path{Rel: "l/new/file"}); len(got) != 0 {
		t.Errorf("it made %v", got)
	}
	if got := file.MissingDirs(s.Env.Workspace, workspace.Path{Rel: "a/b/file"}); !cmp.Equal(got, []string{"a/b", "a"}) {
		t.Errorf("it made %v", got)
	}
}
