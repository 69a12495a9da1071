package gitops

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Resolve returns the commit that a revision names: HEAD, a tag, a branch, a
// remote branch (origin/main), a full name (refs/...), or a hash, which may be
// cut to four digits and more. A tag goes before a branch of the same name, as
// in git. Expressions such as HEAD~1 are not understood.
//
// In a mirror HEAD and the names of branches are those of the remote.
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
	if rev == "HEAD" && r.mirror {
		return r.originHead()
	}
	if rev == "HEAD" {
		return r.headHash()
	}
	if plumbing.IsHash(rev) {
		return plumbing.NewHash(rev), nil
	}
	if reason := badBranch(rev); reason != "" {
		return plumbing.ZeroHash, fmt.Errorf("it %s; only branches, tags, hashes and HEAD are understood", reason)
	}
	for _, name := range r.candidates(rev) {
		if hash, ok, err := r.readRef(name); err != nil || ok {
			return hash, err
		}
	}
	return r.abbreviated(rev)
}

// candidates returns the references that a name may mean, the first one first.
func (r *Repo) candidates(rev string) []string {
	branch, isBranch := strings.CutPrefix(rev, branchPrefix)
	switch {
	case r.mirror && isBranch:
		return []string{originPrefix + branch}
	case strings.HasPrefix(rev, "refs/"):
		return []string{rev}
	case r.mirror:
		return []string{originPrefix + rev, tagPrefix + rev, "refs/remotes/" + rev}
	}
	return []string{tagPrefix + rev, branchPrefix + rev, "refs/remotes/" + rev}
}

// originHead returns the commit of the remote's default branch.
func (r *Repo) originHead() (plumbing.Hash, error) {
	data, err := readOptional(filepath.Join(r.commonDir, "refs", "remotes", "origin", "HEAD"))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: "+originPrefix)
	if !ok || badBranch(target) != "" {
		return plumbing.ZeroHash, errors.New("the remote has no default branch")
	}
	hash, ok, err := r.readRef(originPrefix + target)
	if err == nil && !ok {
		err = fmt.Errorf("the remote's default branch %s is gone", target)
	}
	return hash, err
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
