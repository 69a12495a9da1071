package untrusted

import (
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/files/pathtree"
)

// Files are the files of the user that marked jobs can have written: they can have instructions for the next job that reads them.
// The zero value has none. It is safe for concurrent use.
type Files struct {
	mu  sync.Mutex
	all []writable
}

type writable struct{ path, job string }

// Add records that a marked job can write files or directories, given by absolute paths; empty ones are none.
func (f *Files) Add(job string, paths ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range paths {
		if w := (writable{path, job}); path != "" && !slices.Contains(f.all, w) {
			f.all = append(f.all, w)
		}
	}
}

// Of returns the first job that can have written a file in a directory; "" for none.
func (f *Files) Of(dir string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.all {
		if pathtree.Within(w.path, dir) || pathtree.Within(dir, w.path) {
			return w.job
		}
	}
	return ""
}
