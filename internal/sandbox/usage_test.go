//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/diskusage"
)

// fill creates a file of the given size without holes.
func fill(t *testing.T, name string, size int) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Deleted files that a command has open count, and new files in directories of caches.
func TestDiskLimitOfWhatIsNotInTheDirectories(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	// It goes on writing, because other processes of a busy machine can free as much.
	const big = `for i in $(seq 50); do head -c 9000000 /dev/zero >&3; sleep 1; done`
	for name, line := range map[string]string{
		"a deleted file":                     `exec 3>f; rm f; ` + big,
		"a deleted file in the private /tmp": `f=$(mktemp); exec 3>$f; rm $f; ` + big,
		"a deleted file by its other name":   `test -e /tmp/millhand-level-a && f=/tmp/f || f=$TMPDIR/f; exec 3>$f; rm $f; ` + big,
		"a file in a cache":                  `exec 3>$CACHE/f; ` + big,
		"empty files":                        `mkdir d; cd d; seq 3000 | xargs touch; sleep 100`,
	} {
		for _, level := range confining() {
			t.Run(name+" "+string(level), func(t *testing.T) {
				p := newFixture(t)
				cache := filepath.Join(p.dir, "cache")
				if err := unix.Mkdir(cache, 0o755); err != nil {
					t.Fatal(err)
				}
				fill(t, filepath.Join(cache, "before"), 9_000_000)
				if level == Full {
					fill(t, filepath.Join(p.tmp, "millhand-level-a"), 0)
				}
				spec := p.spec()
				spec.Grants = []Grant{NewGrant(cache, true)}
				s := inside(t, spec, level)
				g := diskusage.NewMonitor([]string{p.workspace, p.tmp}, []string{cache}, 8_000_000, time.Now)
				defer g.Close()
				g.Measure()
				var out bytes.Buffer
				cmd, l := start(t, s, &out, []string{"CACHE=" + cache}, p.workspace, "bash", "-c", line)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				err := g.Watch(ctx)
				l.Kill()
				finish(t, cmd, l)
				if !errors.Is(err, diskusage.ErrLimit) {
					t.Errorf("got %v; %s", err, out.String())
				}
			})
		}
	}
}

// Files that somebody else deletes and has open do not count.
func TestDiskLimitIgnoresOthers(t *testing.T) {
	p := newFixture(t)
	g := diskusage.NewMonitor([]string{p.workspace, p.tmp}, nil, 8_000_000, time.Now)
	defer g.Close()
	g.Measure()
	if out := unguarded(t, p.outside, `exec 3>f; rm f; head -c 9000000 /dev/zero >&3; sleep 100 >/dev/null 2>&1 & echo $! >pid`); out != "" {
		t.Fatal(out)
	}
	defer unguarded(t, p.outside, `kill $(cat pid)`)
	if err := g.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
