package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/credentials"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
)

// headers are the credentials in the configuration of repositories, which are removed
// while the run's agents work. Pushes use the values that the preflight has read.
type headers struct {
	mu     sync.Mutex
	hidden map[string]func() error // by git's common directory
	back   map[string]func(context.Context) error
}

func newHeaders() *headers {
	return &headers{hidden: map[string]func() error{}, back: map[string]func(context.Context) error{}}
}

// hide removes the credentials of a repository, once.
func (h *headers) hide(ctx context.Context, r *gitops.Repo) error {
	dir := r.Git.Common
	h.mu.Lock()
	once := h.hidden[dir]
	if once == nil {
		once = sync.OnceValue(func() error {
			back, err := credentials.Hide(ctx, r.Git)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.back[dir] = back
			return err
		})
		h.hidden[dir] = once
	}
	h.mu.Unlock()
	return once()
}

// restore undoes every hide.
func (h *headers) restore(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(h.back)) {
		errs = append(errs, h.back[dir](ctx))
	}
	return errors.Join(errs...)
}

// restoreHeaders restores all credentials after the last agent has ended.
func (r *run) restoreHeaders(ctx context.Context) {
	if err := r.headers.restore(context.WithoutCancel(ctx)); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprint(err)}})
	}
}

// ciFiles returns the directory of a CI system for files of steps, such as the
// credentials of the checkout. It could be in a directory that commands can read.
func ciFiles(g CommandEnv) []string {
	dir := g.Getenv("RUNNER_TEMP")
	if !filepath.IsAbs(dir) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.Contains([]string{"/", g.Workspace, g.Home, g.Tmp}, dir) {
		return nil
	}
	return []string{dir}
}
