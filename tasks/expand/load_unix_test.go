//go:build unix

package expand

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestFromPipe(t *testing.T) {
	dir := dirWith(t, nil)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := Load(t.Context(), []string{"pipe"}, options(dir))
	if diff := cmp.Diff([]string{"pipe:1:1: the file is empty; name another file"}, lines(t, err)); diff != "" {
		t.Errorf("without a writer (-want +got):\n%s", diff)
	}

	w, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if _, err := w.WriteString(oneTask); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, []string{"pipe"}, options(dir)); !errors.Is(err, context.Canceled) {
		t.Errorf("a writer that never ends: got %v, want the end of the context", err)
	}
}
