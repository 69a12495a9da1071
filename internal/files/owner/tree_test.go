package owner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func uid(t *testing.T, file string) int {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func TestFilesGetTheOwnerOfAnother(t *testing.T) {
	dir := t.TempDir()
	of, file, tree := filepath.Join(dir, "of"), filepath.Join(dir, "file"), filepath.Join(dir, "tree")
	for _, name := range []string{of, file, tree, filepath.Join(tree, "a")} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := os.Geteuid()
	if want == 0 {
		want = 54321
		if err := os.Chown(of, want, want); err != nil {
			t.Fatal(err)
		}
		if same, err := Same(of, file); same || err != nil {
			t.Errorf("other owners: %t, %v", same, err)
		}
	}
	if err := As(of, file); err != nil || uid(t, file) != want {
		t.Errorf("the owner of the file is %d, %v", uid(t, file), err)
	}
	if same, err := Same(of, file); !same || err != nil {
		t.Errorf("the same owner: %t, %v", same, err)
	}
	if err := AllAs(of, tree); err != nil || uid(t, tree) != want || uid(t, filepath.Join(tree, "a")) != want {
		t.Errorf("owners of the tree: %d, %d, %v", uid(t, tree), uid(t, filepath.Join(tree, "a")), err)
	}
	missing := filepath.Join(dir, "missing")
	if _, err := Same(of, missing); err == nil {
		t.Error("a missing file has an owner")
	}
	if As(missing, file) == nil || As(of, missing) == nil || AllAs(missing, tree) == nil {
		t.Error("missing files are no errors")
	}
}
