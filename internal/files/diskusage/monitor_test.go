package diskusage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fill creates a file of the given size without holes.
func fill(t *testing.T, name string, size int) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGrowthAboveTheLimitIsAnError(t *testing.T) {
	workspace, tmp := t.TempDir(), t.TempDir()
	fill(t, filepath.Join(workspace, "before"), 4<<20)
	g := NewMonitor([]string{workspace, tmp}, nil, 1<<20, time.Now)
	defer g.Close()
	g.Measure()
	if err := os.Mkdir(filepath.Join(tmp, "more"), 0o755); err != nil {
		t.Fatal(err)
	}
	watched := make(chan error)
	go func() { watched <- g.Watch(t.Context()) }()
	fill(t, filepath.Join(workspace, "small"), 1<<19)
	fill(t, filepath.Join(tmp, "small"), 1<<19)
	var err error
	for n := 0; err == nil; n++ { // it may look first when some of these are there
		fill(t, filepath.Join(tmp, "more", strconv.Itoa(n)), 1<<16)
		select {
		case err = <-watched:
		case <-time.After(10 * time.Millisecond):
		}
	}
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "(limit 1.0 MB)") {
		t.Errorf("got %v", err)
	}
	if g.Exceeded() != 1 {
		t.Errorf("over %d times", g.Exceeded())
	}
	// A command that frees space can start above the limit, and is then below it.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { watched <- g.Watch(ctx) }()
	time.Sleep(2 * diskPause)
	if err := os.RemoveAll(filepath.Join(tmp, "more")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-watched; err != nil || g.Exceeded() != 0 {
		t.Errorf("after clearing up: %v, over %d times", err, g.Exceeded())
	}
}

func TestDiskUseAboveTheLimitMustNotGrow(t *testing.T) {
	workspace := t.TempDir()
	g := NewMonitor([]string{workspace}, nil, 1<<20, time.Now)
	defer g.Close()
	g.Measure()
	fill(t, filepath.Join(workspace, "large"), 2<<20)
	for over := 1; over < 4; over++ {
		if err := g.Check(t.Context()); !errors.Is(err, ErrLimit) || g.Exceeded() != over {
			t.Errorf("got %v, over %d times", err, g.Exceeded())
		}
	}
	watched := make(chan error)
	started := make(chan struct{})
	go func() { close(started); watched <- g.Watch(t.Context()) }()
	<-started
	for i := range 1000 { // it looks immediately, so that not all of these count as there before
		select {
		case err := <-watched:
			if !errors.Is(err, ErrLimit) {
				t.Errorf("got %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			fill(t, filepath.Join(workspace, "more"+string(rune('a'+i%26))), 1<<16*(1+i/26))
		}
	}
	t.Error("what grew further was not ended")
}

// A command that ends between two measurements is measured if the free space has
// decreased by the limit.
func TestDiskUseOfShortCommandIsDetected(t *testing.T) {
	workspace := t.TempDir()
	g := NewMonitor([]string{workspace}, nil, 1<<20, time.Now)
	defer g.Close()
	g.Measure()
	g.most.bytes += 1 << 40 // as if the disk had lost that, also if others free space meanwhile
	ctx, cancel := context.WithCancel(t.Context())
	fill(t, filepath.Join(workspace, "large"), 2<<20)
	cancel()
	if err := g.Watch(ctx); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	var none *Monitor
	if none.Exceeded() != 0 || none.Check(ctx) != nil {
		t.Error("without a limit")
	}
	none.Close()
}
