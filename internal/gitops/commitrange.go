package gitops

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// maxBeyond is the maximum number of commits that Beyond reads.
const maxBeyond = 20_000

// Beyond returns the messages of the commits that are ancestors of a commit (or it), and
// not of upstream (or it), which may be "" for none. It is not complete if the history is
// not, as in a shallow clone, or too long.
func (r *Repo) Beyond(ctx context.Context, commit, upstream string) (messages []string, complete bool, err error) {
	w := &beyond{objects: r.Git.Objects, seen: map[plumbing.Hash]*ancestor{}, complete: true}
	w.add(plumbing.NewHash(commit), false)
	if upstream != "" {
		w.add(plumbing.NewHash(upstream), true)
	}
	for n, more := 0, 16; w.err == nil && len(w.queue) > 0; n++ {
		if w.ours == 0 { // commits of the same second may have been read in the wrong order
			if more--; more < 0 {
				break
			}
		}
		if n == maxBeyond || ctx.Err() != nil {
			w.complete = false
			break
		}
		next := heap.Pop(&w.queue).(*ancestor) //nolint:forcetypeassert // all are
		next.queued = false
		if !next.upstream {
			w.ours--
		}
		for _, parent := range next.commit.ParentHashes {
			w.add(parent, next.upstream)
		}
	}
	if w.err != nil {
		return nil, false, fmt.Errorf("history of commit %s: %w", commit, w.err)
	}
	for _, a := range w.seen {
		if a.commit != nil && !a.upstream {
			messages = append(messages, a.commit.Message)
		}
	}
	return messages, w.complete, nil
}

// ancestor is one commit of the walk.
type ancestor struct {
	commit   *object.Commit // nil if it is not available
	upstream bool           // an ancestor of upstream
	queued   bool
}

// beyond is a walk through the ancestors of two commits, from the newest on.
type beyond struct {
	objects  *objectdb.Objects
	seen     map[plumbing.Hash]*ancestor
	queue    newest
	ours     int // in the queue, and not known to be of upstream
	complete bool
	err      error
}

// add queues a commit unless it is known.
func (w *beyond) add(hash plumbing.Hash, upstream bool) {
	a := w.seen[hash]
	if a == nil {
		a = &ancestor{}
		w.seen[hash] = a
		if a.commit, w.err = w.objects.Commit(hash); w.err != nil {
			return
		}
		a.upstream = upstream
		if a.commit == nil {
			w.complete = w.complete && upstream
			return
		}
	} else if a.upstream || !upstream || a.commit == nil {
		return
	} else if a.upstream = true; a.queued {
		w.ours--
		return
	}
	a.queued = true
	heap.Push(&w.queue, a)
	if !a.upstream {
		w.ours++
	}
}

// newest is a heap of commits, the newest first.
type newest []*ancestor

func (q newest) Len() int { return len(q) }
func (q newest) Less(i, j int) bool {
	return q[i].commit.Committer.When.After(q[j].commit.Committer.When)
}
func (q newest) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *newest) Push(x any)   { *q = append(*q, x.(*ancestor)) } //nolint:forcetypeassert // all are
func (q *newest) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
