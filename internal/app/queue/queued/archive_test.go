package queued

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/files"
)

func TestPackedFilesOfAJobAreThoseOfItsReports(t *testing.T) {
	from := t.TempDir()
	for name, text := range map[string]string{"patches/a.patch": "patch", "sessions/a.jsonl": "session", "outputs/x/y": "", "events.jsonl": "events", "other/z": "z"} {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "patches", "symlink")); err != nil {
		t.Fatal(err)
	}
	writer := gzip.NewWriter(io.Discard)
	data, err := Pack(from, writer)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(from, writer); err != nil || !bytes.Equal(again, data) {
		t.Errorf("the second use of the writer differs: %v", err)
	}
	to, err := files.MakeTemp(t.TempDir(), "to-")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := Unpack(data, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"patches/a.patch": "patch", "sessions/a.jsonl": "session", "outputs/x/y": ""} {
		if got, err := os.ReadFile(filepath.Join(to.Path(), name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"events.jsonl", "other", "patches/symlink"} {
		if to.Exists(name) {
			t.Errorf("%s is packed", name)
		}
	}
	for cut := range data { // the checksum is the end
		if err := Unpack(data[:cut], to.Sub(fmt.Sprint("cut", cut))); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%d of %d bytes: %v", cut, len(data), err)
		}
	}
	damaged := bytes.Clone(data)
	damaged[len(damaged)-6] ^= 1 // of the checksum
	if err := Unpack(damaged, to.Sub("damaged")); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("another checksum: %v", err)
	}
}

func TestNothingIsPackedOfAJobWithoutFiles(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		if data, err := Pack(dir, gzip.NewWriter(io.Discard)); data != nil || err != nil {
			t.Errorf("%s: %d bytes, %v", dir, len(data), err)
		}
	}
}
