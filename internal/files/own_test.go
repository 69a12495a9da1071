package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFIFOWithoutReaderEndsWithTheContext(t *testing.T) {
	name := fifo(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if err := Own(name).Check(); err != nil {
		t.Errorf("refused before: %v", err)
	}
	err := Own(name).Write(ctx, []byte("text"))
	if err == nil || !strings.HasSuffix(err.Error(), "is a FIFO without a reader: interrupted") {
		t.Errorf("got %v", err)
	}
	if _, err := Own(name).Append(0o600); err == nil || !strings.Contains(err.Error(), "without a reader") {
		t.Errorf("appended: %v", err)
	}
}

func TestReaderThatComesLateGetsEverything(t *testing.T) {
	name, text := fifo(t), strings.Repeat("0123456789", 100_000)
	wrote := make(chan error, 1)
	go func() { wrote <- Own(name).Write(t.Context(), []byte(text)) }()
	got, err := os.ReadFile(name)
	if err := errors.Join(err, <-wrote); err != nil || string(got) != text {
		t.Errorf("got %d bytes of %d, %v", len(got), len(text), err)
	}
}

func TestReaderThatReadsNothingEndsWithTheContext(t *testing.T) {
	name := fifo(t)
	reader, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(t.Context())
	wrote := make(chan error, 1)
	go func() { wrote <- Own(name).Write(ctx, make([]byte, 1<<20)) }()
	if _, err := io.ReadFull(reader, make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	cancel()
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestReaderThatLeavesIsNoError(t *testing.T) {
	name := fifo(t)
	wrote := make(chan error, 1)
	go func() { wrote <- Own(name).Write(t.Context(), make([]byte, 1<<20)) }()
	reader, err := os.Open(name)
	if err == nil {
		_, err = io.ReadFull(reader, make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	if err := <-wrote; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestReplacedFileKeepsModeAndOwner(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(name, []byte("old and longer"), 0o600), os.Chmod(name, 0o646)); err != nil {
		t.Fatal(err)
	}
	want := os.Geteuid()
	if want == 0 {
		want = 1234
		if err := os.Chown(name, want, want); err != nil {
			t.Fatal(err)
		}
	}
	open, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := Own(name).Write(t.Context(), []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, name, "new")
	if text, err := io.ReadAll(open); err != nil || string(text) != "old and longer" {
		t.Errorf("not atomically: a reader has %q, %v", text, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != want || info.Mode() != 0o646 {
		t.Errorf("user %d, mode %v", st.Uid, info.Mode())
	}
}

func TestDescriptorOfTheProcessItselfIsRefused(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := Own(filepath.Join("/dev/fd", strconv.FormatUint(uint64(f.Fd()), 10)))
	for _, err := range []error{name.Check(), name.Write(t.Context(), []byte("x"))} {
		if !errors.Is(err, syscall.EBADF) {
			t.Errorf("a descriptor that no parent has given: %v", err)
		}
	}
}

func TestSymlinksAndSpecialFilesOfOthersAreRefused(t *testing.T) {
	at := t.TempDir()
	d := open(t, at)
	put(t, d, "real/file", "old")
	if err := errors.Join(os.Symlink("real", filepath.Join(at, "dir")), os.Symlink("real/file", filepath.Join(at, "symlink")),
		os.Symlink("gone", filepath.Join(at, "dangling")), syscall.Mkfifo(filepath.Join(at, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir/file", "dir/new", "symlink", "dangling", "pipe", "real", "real/file/x", "../x"} {
		if err := d.Write(name, []byte("new"), 0o644); err == nil {
			t.Errorf("%s was written", name)
		}
		if f, err := d.Append(name); err == nil {
			f.Close()
			t.Errorf("%s was appended to", name)
		}
		if f, err := d.Read(name); err == nil {
			f.Close()
			t.Errorf("%s was read", name)
		}
	}
	holds(t, filepath.Join(at, "real/file"), "old")
	if err := d.Write("real/file", []byte("new"), 0o644); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Join(at, "real/file"), "new")
}

func TestTemporaryDirectoryThatWasReplacedIsRefused(t *testing.T) {
	base := t.TempDir()
	d, err := MakeTemp(base, "x-*")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	victim := t.TempDir()
	if err := errors.Join(os.Remove(d.Path()), os.Symlink(victim, d.Path())); err != nil {
		t.Fatal(err)
	}
	d.WriteNew("input", []byte("x"))
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("the victim has %v, %v", left, err)
	}
}
