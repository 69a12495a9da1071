package credentials

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Hidden holds the headers that were removed from the configuration of the repositories
// of a run. It is safe for concurrent use.
type Hidden struct {
	mu      sync.Mutex
	once    map[string]func() error // by git's common directory
	putBack map[string]func(context.Context) error
}

// NewHidden returns a Hidden without repositories.
func NewHidden() *Hidden {
	return &Hidden{once: map[string]func() error{}, putBack: map[string]func(context.Context) error{}}
}

// Hide removes the headers of a repository as [Hide] does, once.
func (h *Hidden) Hide(ctx context.Context, git *gitdir.Dir) error {
	dir := git.Common
	h.mu.Lock()
	once := h.once[dir]
	if once == nil {
		once = sync.OnceValue(func() error {
			putBack, err := Hide(ctx, git)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.putBack[dir] = putBack
			return err
		})
		h.once[dir] = once
	}
	h.mu.Unlock()
	return once()
}

// Restore undoes every Hide.
func (h *Hidden) Restore(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(h.putBack)) {
		errs = append(errs, h.putBack[dir](ctx))
	}
	return errors.Join(errs...)
}
