package tools

import "sync"

// Tree is what the sessions that work in one workspace share: the turn to
// change files, so that changes of one file don't lose each other, and a count
// of changes, by which answers grow old. The zero value is ready; it is safe
// for concurrent use.
type Tree struct {
	writing sync.Mutex

	mu      sync.Mutex
	changes int64
}

// change runs something that reads, changes and writes files, alone.
func (t *Tree) change(do func() (Result, error)) (Result, error) {
	if t == nil {
		return do()
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	return do()
}

// touch counts a change.
func (t *Tree) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
}

// count returns how many changes there have been.
func (t *Tree) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}
