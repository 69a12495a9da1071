package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// measured is a writer that finds out how much memory is in use while a pack is written.
type measured struct{ written, checked, most uint64 }

func (m *measured) Write(p []byte) (int, error) {
	m.written += uint64(len(p))
	if m.written-m.checked >= 4<<20 {
		m.checked = m.written
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		m.most = max(m.most, now.HeapAlloc)
	}
	return len(p), nil
}

// TestAPackIsWrittenOneObjectAtATime: packfile.Encoder lists all objects before it writes the first.
func TestAPackIsWrittenOneObjectAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	const files, size = 12, 4 << 20
	for i := range files {
		s.Write(fmt.Sprint(i), randomText(size))
	}
	s.Commit()
	git := open(t, s)
	commit := plumbing.NewHash(s.Run("rev-parse", "HEAD"))
	objects, err := between(t.Context(), git.Objects, []plumbing.Hash{commit}, nil)
	must(t, err)
	if len(objects) != files+2 {
		t.Fatalf("%d objects", len(objects))
	}
	var m measured
	must(t, writePack(t.Context(), &m, git.Objects, objects))
	if m.written < files*size/2 || m.most > files*size*3/4 {
		t.Errorf("%d MB in memory while %d MB were written", m.most>>20, m.written>>20)
	}
}

func TestAPackOfMissingObjectsIsAnError(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	s.Commit()
	git := open(t, s)
	missing := plumbing.NewHash("0123456789012345678901234567890123456789")
	err := writePack(t.Context(), io.Discard, git.Objects, []plumbing.Hash{missing})
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("a missing object: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := writePack(ctx, io.Discard, git.Objects, []plumbing.Hash{objectdb.EmptyTree}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}
