package search

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWritesThroughAMappingAreFound changes a file through a memory mapping from which it
// has been read, as a command may. On tmpfs this leaves the file's times unchanged.
func TestWritesThroughAMappingAreFound(t *testing.T) {
	for _, where := range tempDirs(t) {
		t.Run(where, func(t *testing.T) {
			dir, err := os.MkdirTemp(where, "search-") //nolint:usetesting // on a certain file system
			check(t, err)
			t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
			name := filepath.Join(dir, "a")
			check(t, os.WriteFile(name, []byte("1 nothin\n"), 0o600))
			settle(t)
			scope := Scope{Root: openRoot(t, dir), Cache: NewCache(1 << 20)}
			for range 2 {
				if got := grepLines(t, scope, Query{Pattern: "needle"}); len(got) > 0 {
					t.Errorf("found %q", got)
				}
			}
			done := scope.Cache.Changing(true)
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			check(t, err)
			m, err := unix.Mmap(int(f.Fd()), 0, 9, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			check(t, err)
			if m[0] != '1' {
				t.Errorf("mapped %q", m)
			}
			copy(m, "1 needle\n")
			check(t, unix.Munmap(m))
			check(t, f.Close())
			done()
			if got := grepLines(t, scope, Query{Pattern: "needle"}); !slices.Equal(got, []string{"a:1:1 needle"}) {
				t.Errorf("found %q after the change", got)
			}
			if _, files := scope.Cache.known(); files > 1 {
				t.Errorf("%d versions of the file are remembered", files)
			}
		})
	}
}
