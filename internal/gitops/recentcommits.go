package gitops

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Since returns the messages of the commits of a repository that are reachable from any reference or HEAD and
// not older than a time, by their hashes.
func Since(ctx context.Context, r *Repo, t time.Time) (map[string]string, error) {
	refs, err := r.Git.Refs()
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	if _, head, err := r.Git.ReadHead(); err == nil {
		refs["HEAD"] = head
	}
	w := &beyond{objects: r.Git.Objects.Originals(), seen: map[plumbing.Hash]*ancestor{}} // not what git-replace shows instead
	for _, hash := range refs {
		if c, err := w.objects.Commit(hash); err == nil && c != nil { // others are tags of objects
			w.add(hash, false)
		}
	}
	messages := map[string]string{}
	for w.err == nil && len(w.queue) > 0 && ctx.Err() == nil {
		next := heap.Pop(&w.queue).(*ancestor) //nolint:forcetypeassert // all are
		if next.commit.Committer.When.Before(t) {
			break
		}
		messages[next.commit.Hash.String()] = next.commit.Message
		for _, parent := range next.commit.ParentHashes {
			w.add(parent, false)
		}
	}
	if w.err == nil {
		w.err = context.Cause(ctx)
	}
	if w.err != nil {
		return nil, fmt.Errorf("read history: %w", w.err)
	}
	return messages, nil
}
