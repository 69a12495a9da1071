// Package change serializes and counts the changes that the sessions of one workspace make to its files. It makes none
// itself, and does not look at files; the cache of searches of the workspace is with it. Package changes asks it what tools wrote.
package change

import (
	"maps"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/search"
	"github.com/millhand/millhand/tools/tool"
)

// Tracker is shared by the sessions of one workspace. It serializes changes of
// files, so that concurrent edits of a file don't lose each other, and counts
// changes to invalidate cached results. The zero value is ready to use. It is
// safe for concurrent use.
type Tracker struct {
	writing  sync.Mutex
	searches *search.Cache // nil for none

	mu      sync.Mutex
	changes int64
	active  int             // calls and programs that may change files now
	written map[string]bool // absolute paths of files that built-in tools changed
	only    bool            // nothing else changed since Written
}

// New returns a Tracker that makes repeated searches cheaper with about so many bytes of
// memory at most.
func New(memory int) *Tracker { return &Tracker{searches: search.NewCache(memory)} }

// Searches returns the cache for searches, nil for none.
func (t *Tracker) Searches() *search.Cache {
	if t == nil {
		return nil
	}
	return t.searches
}

// Do runs a function that reads and writes files, one at a time.
func (t *Tracker) Do(paths []workspace.Path, change func() (tool.Result, error)) (tool.Result, error) {
	if t == nil {
		return change()
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	defer t.wrote(paths)
	return change()
}

func (t *Tracker) wrote(paths []workspace.Path) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	for _, p := range paths {
		t.written[p.Abs] = true
	}
}

// Written returns the absolute paths of the files that built-in tools changed since the last
// call, and reports whether no other call can have changed the workspace since then.
func (t *Tracker) Written() (files []string, only bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	files, only = slices.Sorted(maps.Keys(t.written)), t.only
	t.written, t.only = nil, true
	return files, only
}

// Unchanged reports whether no call can have changed the workspace since Written was called.
func (t *Tracker) Unchanged() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.only && len(t.written) == 0
}

// Touch records that the workspace may have changed anywhere.
func (t *Tracker) Touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.only = false
}

// Changing notes that a call or a program may change files until done is called. Cached results
// are invalidated then and now, because other calls may run concurrently.
func (t *Tracker) Changing(program bool) (done func()) {
	unread := t.searches.Changing(program)
	t.touch(program, 1)
	return func() {
		t.touch(program, -1)
		unread()
	}
}

// Watch returns a function that reports whether a call can have changed the workspace since Watch was called.
func (t *Tracker) Watch() (changed func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	busy, before := t.active > 0, t.changes
	return func() bool { return busy || t.Count() != before }
}

// Wrote reports whether a built-in tool changed a file, given by its absolute path, since Written was called.
func (t *Tracker) Wrote(file string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written[file]
}

// touch counts the start or the end of a change, of a program or of a file.
func (t *Tracker) touch(program bool, active int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	t.active += active
	t.only = t.only && !program
}

// Count returns the number of changes.
func (t *Tracker) Count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}
