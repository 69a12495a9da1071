package search

import (
	"slices"
	"sync"
)

// first collects the values that come first in its order, until their total weight
// reaches the limit. The result does not
// depend on the order of additions. It is safe for concurrent use.
type first[T any] struct {
	limit  int
	order  func(a, b T) int
	weight func(T) int

	mu    sync.Mutex
	items []T
	heavy int // weight of items
	total int // weight of all added values
}

func (f *first[T]) add(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.weight(v)
	f.total += n
	f.heavy += n
	f.items = append(f.items, v)
	if f.heavy > 2*f.limit+maxResults { // rare, because it sorts
		f.prune()
	}
}

// all returns the collected values in order. The last one may exceed the
// limit.
func (f *first[T]) all() []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prune()
	return f.items
}

// prune removes the values whose predecessors alone reach the limit.
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
