package ablation

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContentOfPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "d", "f"), "x\n")
	if err := os.WriteFile(filepath.Join(dir, "run"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Content{
		"d/f":   {Mode: Regular, Data: []byte("x\n")},
		"run":   {Mode: Executable, Data: []byte{}},
		"l":     {Mode: Symlink, Data: []byte("nowhere")},
		"d":     {},
		"none":  {},
		"d/f/x": {},
	} {
		got, err := ContentIn(dir, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s, %v", name, diff, err)
		}
	}
	if _, err := ContentIn(dir, "fifo"); err == nil || err.Error() != "fifo is neither a file nor a symlink" {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := ContentIn(filepath.Join(dir, "none"), "a"); err == nil {
		t.Error("a directory that does not exist has content")
	}
}

// A tree replaces files by directories and symlinks and the reverse, removes directories that become empty, and
// writes nothing outside of the directory.
func TestFilesBecomeThoseOfATree(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"same": "x\n", "edited": "old\n", "gone/deep/x": "x\n", "file/in": "x\n", "dir": "x\n", "beside/y": "y\n", "beside/x": "x\n", "run": "x\n"} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{
		{"dir/in", Content{Mode: Regular, Data: []byte("now below\n")}},
		{"dir", Content{}},
		{"file", Content{Mode: Regular, Data: []byte("now a file\n")}},
		{"file/in", Content{}},
		{"same", Content{Mode: Regular, Data: []byte("x\n")}},
		{"edited", Content{Mode: Symlink, Data: []byte("same")}},
		{"gone/deep/x", Content{}},
		{"beside/x", Content{}},
		{"run", Content{Mode: Executable, Data: []byte("x\n")}},
	}
	if err := tree.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	for _, e := range tree {
		if got, err := ContentIn(dir, e.Path); e.Path != "dir" && (cmp.Diff(e.Content, got) != "" || err != nil) {
			t.Errorf("%s: %+v, %v", e.Path, got, err)
		}
	}
	if after, err := os.Stat(filepath.Join(dir, "same")); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a file that is as it has to be was written: %v", err)
	}
	for name, exists := range map[string]bool{"gone": false, "beside": true, "beside/y": true} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != exists {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Tree{{"out/x", Content{Mode: Regular}}}).WriteTo(dir); err == nil {
		t.Error("a file was written through a symlink")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
