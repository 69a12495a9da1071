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

// headers are the credentials in the configuration of repositories, which are
// taken out of it while the run's agents are at work. Pushes do not miss them:
// the preflight has read them.
type headers struct {
	mu     sync.Mutex
	hidden map[string]func() error // by the directory with the configuration
	back   map[string]func(context.Context) error
}

func newHeaders() *headers {
	return &headers{hidden: map[string]func() error{}, back: map[string]func(context.Context) error{}}
}

// hide takes those of one repository out, the first time that it is asked.
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

// putBack undoes all of it.
func (h *headers) putBack(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(h.back)) {
		errs = append(errs, h.back[dir](ctx))
	}
	return errors.Join(errs...)
}

// restoreHeaders puts all credentials back when no agent is at work any more.
func (r *run) restoreHeaders(ctx context.Context) {
	if err := r.headers.putBack(context.WithoutCancel(ctx)); err != nil {
		r.opts.Emit(event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: fmt.Sprint(err)}})
	}
}

// filesOfCI is the directory in which a CI system keeps what one step leaves to
// another, keys of the checkout among it: it may lie where commands can read.
func filesOfCI(g Ground) []string {
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
