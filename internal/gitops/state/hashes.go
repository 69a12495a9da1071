package state

import (
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// hashes are the ids of files that the index does not vouch for, so that one process reads
// each of them once: the times in the index of a restored cache or of an image layer, for
// example, are not those of its files. It is safe for concurrent use.
type hashes struct {
	mu     sync.Mutex
	byPath map[string]hashed
}

type hashed struct {
	stat gitdir.Stat
	hash plumbing.Hash
}

// settled is how old the times of a file must be when it was read: of a younger one, a later
// change could leave them equal.
const settled = 2 * time.Second

// of returns the id of a file without conversions if it has the times, size and inode that it
// had when it was read.
func (h *hashes) of(path string, now gitdir.Stat) (plumbing.Hash, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.byPath[path]
	return known.hash, ok && known.stat == now
}

// add records the id of a file. stat is from before it was read. Without a clock nothing is recorded.
func (h *hashes) add(path string, stat gitdir.Stat, hash plumbing.Hash, clock func() time.Time) {
	if clock == nil || !stat.Before(clock().Add(-settled)) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byPath == nil {
		h.byPath = map[string]hashed{}
	}
	h.byPath[path] = hashed{stat, hash}
}
