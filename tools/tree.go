package tools

import "sync"

// Tree is shared by the sessions of one workspace. It serializes changes of
// files, so that concurrent edits of a file don't lose each other, and counts
// changes to invalidate cached results. The zero value is ready to use. It is
// safe for concurrent use.
type Tree struct {
	writing sync.Mutex

	mu      sync.Mutex
	changes int64
}

// change runs a function that reads and writes files, one at a time.
func (t *Tree) change(do func() (Result, error)) (Result, error) {
	if t == nil {
		return do()
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	return do()
}

// touch increments the number of changes.
func (t *Tree) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
}

// count returns the number of changes.
func (t *Tree) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}
