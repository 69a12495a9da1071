package userfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFilesAreReadUpToABound(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("a"), []byte("12345"), 0o600), os.Mkdir(path("d"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadRegular(path("a"), 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadRegular(path("a"), 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a larger file: %v", err)
	}
	if _, err := ReadRegular(path("d"), 5); Missing(err) != "not a file" {
		t.Errorf("a directory: %v", err)
	}
	if _, err := ReadRegular(path("nope"), 5); Missing(err) != "not found" {
		t.Errorf("no file: %v", err)
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRegular(path("pipe"), 5); Missing(err) != "not a file" {
		t.Errorf("a pipe: %v", err)
	}
	if data, err := Read(t.Context(), path("pipe"), 5); err != nil || len(data) > 0 {
		t.Errorf("a pipe without a writer: %q, %v", data, err)
	}
	if !IsFile(path("a")) || IsFile(path("d")) || IsFile(path("nope")) {
		t.Error("files are not distinguished")
	}
	for err, want := range map[error]string{os.ErrPermission: "permission denied", &os.PathError{Op: "open", Path: "x", Err: syscall.EIO}: "input/output error", nil: "not a file"} {
		if got := Missing(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestReadingAPipeEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, pipe, 5); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestRealPathFollowsSymlinksOfWhatDoesNotExistYet(t *testing.T) {
	dir := Real(t.TempDir())
	for name, to := range map[string]string{"symlink": "target", "dangling": "gone"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "target"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"symlink": "target", "symlink/new/file": "target/new/file", "target/../symlink": "target"} {
		if got, err := RealPath(filepath.Join(dir, path)); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if got, err := RealPath(filepath.Join(dir, "dangling", "x")); err == nil {
		t.Errorf("a symlink to what may appear leads to %s", got)
	}
	if got := Real(filepath.Join(dir, "nope")); got != filepath.Join(dir, "nope") {
		t.Errorf("a directory that does not exist is %s", got)
	}
}
