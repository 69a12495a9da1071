package gitops

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Resolve returns the commit that a revision names: HEAD, a tag, a branch, a
// remote branch (origin/main), a full name (refs/...), or a hash, which may be
// cut to four digits and more. A tag goes before a branch of the same name, as
// in git. Expressions such as HEAD~1 are not understood.
func (r *Repo) Resolve(rev string) (string, error) {
	hash, err := r.resolve(rev)
	if err == nil {
		hash, err = r.peel(hash)
	}
	if err != nil {
		return "", fmt.Errorf("resolve revision %q: %w", rev, err)
	}
	return hash.String(), nil
}

func (r *Repo) resolve(rev string) (plumbing.Hash, error) {
	if rev == "HEAD" {
		return r.headHash()
	}
	if plumbing.IsHash(rev) {
		return plumbing.NewHash(rev), nil
	}
	if reason := badBranch(rev); reason != "" {
		return plumbing.ZeroHash, fmt.Errorf("it %s; only branches, tags, hashes and HEAD are understood", reason)
	}
	places := []string{"refs/tags/", branchPrefix, "refs/remotes/"}
	if strings.HasPrefix(rev, "refs/") {
		places = []string{""}
	}
	for _, place := range places {
		if hash, ok, err := r.readRef(place + rev); err != nil || ok {
			return hash, err
		}
	}
	return r.abbreviated(rev)
}

func (r *Repo) headHash() (plumbing.Hash, error) {
	head, err := r.Head()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if head.Unborn {
		return plumbing.ZeroHash, fmt.Errorf("branch %s has no commit yet", head.Branch)
	}
	return plumbing.NewHash(head.Hash), nil
}

// shortestHash is how many digits of a hash git wants at least.
const shortestHash = 4

// abbreviated looks for the one commit whose hash begins with some digits.
func (r *Repo) abbreviated(digits string) (plumbing.Hash, error) {
	unknown := fmt.Errorf("there is no such branch, tag or commit")
	digits = strings.ToLower(digits)
	prefix, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil || len(digits) < shortestHash {
		return plumbing.ZeroHash, unknown
	}
	all, err := r.objects.withPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var found []plumbing.Hash
	for _, hash := range all {
		if !strings.HasPrefix(hash.String(), digits) {
			continue
		}
		if commit, err := r.peel(hash); err == nil && commit == hash {
			found = append(found, hash)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, unknown
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%d commits begin with it", len(found))
}

// mostTags bounds how many tags of tags are followed.
const mostTags = 16

// peel follows tags to their commit.
func (r *Repo) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	for range mostTags {
		o, err := r.objects.read(plumbing.AnyObject, hash)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		switch o.Type() {
		case plumbing.CommitObject:
			return hash, nil
		case plumbing.TagObject:
			t, err := object.DecodeTag(nil, o)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			hash = t.Target
		default:
			return plumbing.ZeroHash, fmt.Errorf("%s is a %s, not a commit", hash, o.Type())
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("more than %d tags of tags", mostTags)
}
