package sharedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe in a repository would block whoever opens it.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, dir} {
		if _, err := Read(name); !errors.Is(err, errNotFile) {
			t.Errorf("read %s: %v", name, err)
		}
		if _, err := ReadOptional(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	for name, want := range map[string]string{file: "text", os.DevNull: ""} {
		if data, err := Read(name); err != nil || string(data) != want {
			t.Errorf("read %s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"", filepath.Join(dir, "missing"), filepath.Join(file, "below a file")} {
		if data, err := ReadOptional(name); err != nil || data != nil {
			t.Errorf("read %s: %q, %v", name, data, err)
		}
	}
	if _, err := Read(filepath.Join(file, "x")); !Absent(err) || IgnoreMissing(err) == nil {
		t.Errorf("a path below a file: %v", err)
	}
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
}

func TestEntriesOfADirectoryAreNotFollowed(t *testing.T) {
	top := t.TempDir()
	secret := filepath.Join(top, "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Mkdir(filepath.Join(top, "dir"), 0o700)); err != nil {
		t.Fatal(err)
	}
	dir, err := OpenDirectory(filepath.Join(top, "dir"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := OpenDirectory(secret); err == nil {
		t.Error("a file was opened as a directory")
	}
	then := time.Unix(1_000_000_000, 0)
	if err := errors.Join(SymlinkIn(dir, secret, "symlink"), WriteIn(dir, "file", []byte("some text"), 0o640), MkdirIn(dir, "below"), SetTimeIn(dir, "file", then), SetTimeIn(dir, "symlink", then)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if n, err := ReadIn(dir, "file", buf); err != nil || string(buf[:n]) != "some" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if n, err := ReadIn(dir, "symlink", buf); n != 0 || err == nil {
		t.Errorf("a symlink was followed: %q", buf[:n])
	}
	for _, name := range []string{"symlink", "file"} {
		if err := WriteIn(dir, name, []byte("other"), 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s was written: %v", name, err)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("%q, %v", data, err)
	}
	for name, want := range map[string]bool{"file": true, "symlink": true, "../secret": false} {
		info, err := os.Lstat(filepath.Join(top, "dir", name))
		if err != nil || info.ModTime().Equal(then) != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
