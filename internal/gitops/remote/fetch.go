package remote

import (
	"container/heap"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// FetchTimeout is how long a fetch of a repository may take.
const FetchTimeout = 15 * time.Minute

// fetch packs what is missing into another object store.
func (f *localSource) fetch(ctx context.Context, into *objectdb.Objects, w request) ([]plumbing.Hash, error) {
	objects, err := between(ctx, f.git.Objects.Originals(), w.want, w.have)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		_ = in.CloseWithError(writePack(ctx, in, f.git.Objects.Originals(), objects))
	}()
	err = storePack(ctx, into, out)
	_ = out.Close()
	<-packed
	return slices.Concat(w.shallow, f.has.shallow), err
}

// maxHaves is the maximum number of commits sent as haves, and maxAncestors
// that of those which are not tips of references.
const (
	maxHaves     = 2048
	maxAncestors = 256
)

// haves returns commits of a repository that are complete with all their
// objects: the tips of references, and some of their ancestors.
func haves(objects *objectdb.Objects, refs map[string]plumbing.Hash) ([]plumbing.Hash, error) {
	h := &history{objects: objects, seen: map[plumbing.Hash]*visit{}}
	for _, name := range slices.SortedFunc(maps.Keys(refs), branchesFirst) {
		if len(h.seen) >= maxHaves {
			break
		}
		end, kind, _, err := objects.Target(refs[name])
		if err != nil || kind != plumbing.CommitObject {
			continue // skip a reference to a missing object
		}
		if err := h.enter(end, true); err != nil {
			return nil, err
		}
	}
	for range maxAncestors {
		if h.queue.Len() == 0 {
			break
		}
		v := heap.Pop(&h.queue).(*visit) // it holds nothing else
		for _, parent := range v.commit.ParentHashes {
			if err := h.enter(parent, true); err != nil {
				return nil, err
			}
		}
	}
	return slices.Collect(maps.Keys(h.seen)), nil
}

// branchesFirst sorts tags after branches.
func branchesFirst(a, b string) int {
	aTag, bTag := strings.HasPrefix(a, gitdir.TagPrefix), strings.HasPrefix(b, gitdir.TagPrefix)
	switch {
	case aTag == bTag:
		return strings.Compare(a, b)
	case aTag:
		return 1
	}
	return -1
}

// Fetch fetches the commit of a remote's branch into a repository, with all its
// objects. It creates and moves no references, so git gc may remove the objects
// after two weeks. The error matches ErrAuth, ErrNotFound (also for a missing
// branch), ErrUnreachable, the context's, or is an *UnsupportedError.
func Fetch(ctx context.Context, git *gitdir.Dir, remote Repo, branch string) (hash string, err error) {
	if hash, err = fetchCommit(ctx, git, remote, branch); err != nil {
		return "", remote.fail(ctx, "fetch branch "+branch+" from", err)
	}
	return hash, nil
}

func fetchCommit(ctx context.Context, git *gitdir.Dir, remote Repo, branch string) (string, error) {
	src, err := openSource(ctx, remote, git.Env)
	if err != nil {
		return "", err
	}
	defer src.close()
	offer := src.advertised()
	tip, ok := offer.refs[gitdir.BranchPrefix+branch]
	if !ok {
		return "", fmt.Errorf("%w: branch %s", ErrNotFound, branch)
	}
	if len(offer.shallow) > 0 {
		return "", &gitdir.UnsupportedError{Reason: "remote repository is shallow"}
	}
	refs, err := git.Refs()
	if err != nil {
		return "", err
	}
	for _, at := range refs {
		if at == tip {
			return tip.String(), nil // the target of a reference is complete
		}
	}
	w := request{want: []plumbing.Hash{tip}}
	if w.have, err = haves(git.Objects.Originals(), refs); err != nil {
		return "", err
	}
	if w.shallow, err = git.Shallow(); err != nil {
		return "", err
	}
	shallow, err := src.fetch(ctx, git.Objects.Originals(), w)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(shallow, func(h plumbing.Hash) bool { return !slices.Contains(w.shallow, h) }) {
		return "", &gitdir.UnsupportedError{Reason: "remote repository is shallow"} // unlike version 0, version 2 reports it only now
	}
	if _, err := git.Objects.Originals().RootTree(tip); err != nil {
		return "", fmt.Errorf("%w: incomplete pack: %w", ErrUnreachable, err)
	}
	return tip.String(), nil
}
