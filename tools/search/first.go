package search

import (
	"slices"
	"sync"
)

// first keeps the first of the values that are added to it, in an order of
// its own, until their weights reach the limit. Which ones it keeps does not
// depend on when they are added. Several goroutines may add.
type first[T any] struct {
	limit  int
	order  func(a, b T) int
	weight func(T) int

	mu    sync.Mutex
	items []T
	heavy int // weight of kept
	total int // weight of all that were added
}

func (f *first[T]) add(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.weight(v)
	f.total += n
	f.heavy += n
	f.items = append(f.items, v)
	if f.heavy > 2*f.limit+maxResults { // seldom, as it sorts
		f.prune()
	}
}

// all returns what was kept, in order. The last value may reach beyond the
// limit.
func (f *first[T]) all() []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prune()
	return f.items
}

// prune drops the values whose predecessors alone reach the limit.
func (f *first[T]) prune() {
	slices.SortFunc(f.items, f.order)
	f.heavy = 0
	for i, v := range f.items {
		if f.heavy >= f.limit {
			clear(f.items[i:])
			f.items = f.items[:i]
			return
		}
		f.heavy += f.weight(v)
	}
}
