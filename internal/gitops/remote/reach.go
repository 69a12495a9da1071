package remote

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// history walks commits, newest first, and separates wanted commits from those
// that the other side has.
type history struct {
	objects *objectdb.Objects
	seen    map[plumbing.Hash]*visit
	queue   byAge
	wanted  int // visits in the queue that are of wanted commits
}

// visit is a commit reached by the walk.
type visit struct {
	hash   plumbing.Hash
	commit *object.Commit
	theirs bool // the other side has it
	queued bool
}

// byAge is a heap of visits.
type byAge []*visit

func (q byAge) Len() int { return len(q) }
func (q byAge) Less(i, j int) bool {
	return q[i].commit.Committer.When.After(q[j].commit.Committer.When)
}
func (q byAge) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *byAge) Push(x any)   { *q = append(*q, x.(*visit)) } // heap.Interface
func (q *byAge) Pop() any {
	last := len(*q) - 1
	v := (*q)[last]
	*q = (*q)[:last]
	return v
}

// enter adds a commit to the walk, or marks it as present on the other side.
func (h *history) enter(hash plumbing.Hash, theirs bool) error {
	v := h.seen[hash]
	switch {
	case v == nil:
		c, err := h.objects.Commit(hash)
		if err != nil || c == nil {
			return err
		}
		v = &visit{hash: hash, commit: c, theirs: theirs}
		h.seen[hash] = v
	case v.theirs || !theirs:
		return nil
	default:
		v.theirs = true
		if v.queued {
			h.wanted--
			return nil
		}
	}
	v.queued = true
	if !v.theirs {
		h.wanted++
	}
	heap.Push(&h.queue, v)
	return nil
}

// run walks until no wanted commit is left.
func (h *history) run(ctx context.Context) error {
	for h.wanted > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := heap.Pop(&h.queue).(*visit) // it holds nothing else
		v.queued = false
		if !v.theirs {
			h.wanted--
		}
		for _, parent := range v.commit.ParentHashes {
			if err := h.enter(parent, v.theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

// between returns the objects missing on a side that wants some commits and has
// others, which may be missing here. The result may include objects that it
// has.
func between(ctx context.Context, store *objectdb.Objects, want, have []plumbing.Hash) ([]plumbing.Hash, error) {
	c := &collection{objects: store, seen: map[plumbing.Hash]bool{}}
	h := &history{objects: store, seen: map[plumbing.Hash]*visit{}}
	for _, hash := range have {
		end, kind, _, err := store.Target(hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err == nil && kind == plumbing.CommitObject {
			err = h.enter(end, true)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, hash := range want {
		if err := c.addWanted(h, hash); err != nil {
			return nil, err
		}
	}
	if err := h.run(ctx); err != nil {
		return nil, err
	}
	for _, v := range h.seen {
		if v.theirs {
			continue
		}
		if err := errors.Join(ctx.Err(), c.addCommit(v)); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// collection gathers objects, each once.
type collection struct {
	objects *objectdb.Objects
	seen    map[plumbing.Hash]bool
	list    []plumbing.Hash
}

func (c *collection) add(hashes ...plumbing.Hash) {
	for _, h := range hashes {
		if !c.seen[h] {
			c.seen[h] = true
			c.list = append(c.list, h)
		}
	}
}

// addWanted adds the target of a reference; commits are added by the walk.
func (c *collection) addWanted(h *history, hash plumbing.Hash) error {
	end, kind, tags, err := c.objects.Target(hash)
	if err != nil {
		return err
	}
	c.add(tags...)
	switch kind {
	case plumbing.CommitObject:
		return h.enter(end, false)
	case plumbing.TreeObject:
		return c.addTree(end, nil, 0)
	default:
		c.add(end)
		return nil
	}
}

// addCommit adds a commit and the objects of its tree that are not in its
// parents' trees, which the other side has or gets.
func (c *collection) addCommit(v *visit) error {
	c.add(v.hash)
	var before []plumbing.Hash
	for _, parent := range v.commit.ParentHashes {
		p, err := c.objects.Commit(parent)
		if err != nil {
			return err
		}
		if p != nil {
			before = append(before, p.TreeHash)
		}
	}
	return c.addTree(v.commit.TreeHash, before, 0)
}

func (c *collection) addTree(tree plumbing.Hash, before []plumbing.Hash, depth int) error {
	if depth > objectdb.MaxDepth {
		return fmt.Errorf("directories nested more than %d levels deep", objectdb.MaxDepth)
	}
	if c.seen[tree] || slices.Contains(before, tree) {
		return nil
	}
	entries, err := c.objects.Tree(tree)
	if err != nil {
		return err
	}
	olds, err := c.entries(before)
	if err != nil {
		return err
	}
	for _, e := range entries {
		old := olds[e.Name]
		if e.Mode == filemode.Submodule || slices.ContainsFunc(old, func(o object.TreeEntry) bool { return o.Hash == e.Hash }) {
			continue
		}
		if e.Mode != filemode.Dir {
			c.add(e.Hash)
			continue
		}
		var below []plumbing.Hash
		for _, o := range old {
			if o.Mode == filemode.Dir {
				below = append(below, o.Hash)
			}
		}
		if err := c.addTree(e.Hash, below, depth+1); err != nil {
			return err
		}
	}
	c.add(tree)
	return nil
}

// entries returns the entries of several trees, by name.
func (c *collection) entries(trees []plumbing.Hash) (map[string][]object.TreeEntry, error) {
	all := map[string][]object.TreeEntry{}
	for _, t := range trees {
		entries, err := c.objects.Tree(t)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all[e.Name] = append(all[e.Name], e)
		}
	}
	return all, nil
}
