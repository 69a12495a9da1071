package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
)

// SigningPrefix is the start of the names of the branches on which a forge makes commits. They
// exist for some seconds.
const SigningPrefix = "millhand-signing/"

// Signing makes the forge repeat a commit, with its own signature, before it is pushed.
type Signing struct {
	Client *forge.Client
	Repo   forge.Path   // that the commit is pushed to
	Branch string       // of the forge's commit; see SigningPrefix
	Origin *gitops.Repo // has the commit
	// Moves is the branch of Origin that gets the forge's commit from Committer; "" for none.
	Moves     string
	Committer gitops.Signature

	base    string // parent of the commit; "": the forge has made it, and only the branch may be left
	message string
}

// Read reads the commit that the forge repeats.
func (s *Signing) Read(commit string) error {
	if signed, err := s.Origin.Signed(commit); err != nil || signed { // an earlier process has fetched it
		return err
	}
	line, err := s.Origin.FirstParents(commit, 2)
	if err == nil && len(line) < 2 {
		err = errors.New("it has no parent")
	}
	if err != nil {
		return err
	}
	s.message, err = s.Origin.Message(commit)
	s.base = line[1]
	return err
}

// CanSign checks that commits of a repository can be made by its forge. The error is a
// [*Failure], or that of a forge that can't be asked now, as of [Repository].
func CanSign(client *forge.Client) error {
	if client.Signs() {
		return nil
	}
	return refuse(event.CodeRemote, "%s (%s) is not supported, only GitHub: use ssh or openpgp", client.Host(), client.Kind())
}

// sign replaces the commit by one that the forge makes on a branch of its own, so that the
// branch of the publication gets it by a push with a lease. A commit that a process
// before made there is used.
func (p *Publication) sign(ctx context.Context) error {
	s := p.Signing
	if s == nil || s.base == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("timed out after %s", pushTimeout))
	defer cancel()
	tip, err := s.tip(ctx, p.Remote)
	if err != nil {
		return err
	}
	if tip == "" || tip == s.base {
		files, err := s.files(p.Commit)
		if err != nil {
			return err
		}
		if tip == "" {
			if err := remote.Push(ctx, p.From, remote.PushOptions{Remote: p.Remote, Commit: s.base, Branch: s.Branch}); err != nil {
				return err
			}
		}
		c := forge.NewCommit{Branch: s.Branch, Parent: s.base, Message: s.message, Files: files}
		if tip, err = s.Client.Commit(ctx, s.Repo, c); err != nil {
			p.discard(ctx, s.base)
			return err
		}
	}
	fetched, err := remote.Fetch(ctx, p.From, p.Remote, s.Branch)
	if err == nil && fetched != tip {
		err = fmt.Errorf("%w: %s is at %.10s", remote.ErrLease, s.Branch, fetched)
	}
	if err == nil {
		err = s.check(p.Commit, tip)
	}
	if err == nil && s.Moves != "" {
		err = s.Origin.MoveBranch(ctx, s.Moves, p.Commit, tip, s.Committer)
	}
	if err != nil {
		p.discard(ctx, tip)
		return err
	}
	p.Commit = tip
	p.Emit(event.Event{Type: event.Committed, Commit: &event.Commit{Hash: tip, Branch: p.Branch, Message: s.message}})
	return nil
}

// files returns the changes of a commit, if the forge can make it.
func (s *Signing) files(commit string) ([]forge.File, error) {
	changed, err := s.Origin.Difference(s.base, commit, forge.MaxCommit)
	if err != nil {
		return nil, fmt.Errorf("sign: api: %w; use sign: ssh", err)
	}
	files := make([]forge.File, len(changed))
	for i, v := range changed {
		if v.Kind != "" {
			return nil, fmt.Errorf("sign: api: GitHub can't commit %s, which is %s; use sign: ssh or openpgp", v.Path, v.Kind)
		}
		files[i] = forge.File{Path: v.Path, Content: v.Content, Deleted: v.Deleted}
	}
	return files, nil
}

// check returns an error unless the forge's commit has the files and the parent of the
// original one, and a signature.
func (s *Signing) check(original, hash string) error {
	trees, parents := [2]string{}, [2]string{}
	for i, c := range []string{original, hash} {
		line, err := s.Origin.FirstParents(c, 2)
		if err == nil && len(line) == 2 {
			parents[i] = line[1]
			trees[i], err = s.Origin.RootTree(c)
		}
		if err != nil {
			return err
		}
	}
	signed, err := s.Origin.Signed(hash)
	switch {
	case err != nil:
		return err
	case trees[0] != trees[1] || parents[0] != parents[1]:
		return fmt.Errorf("sign: api: the commit %.10s of the forge has other files or another parent than the job's; use sign: ssh or openpgp", hash)
	case !signed:
		return fmt.Errorf("sign: api: the forge did not sign its commit %.10s: check whether the server signs commits that are made on it", hash)
	}
	return nil
}

// tip returns the commit of the branch, "" if it does not exist.
func (s *Signing) tip(ctx context.Context, at remote.Repo) (string, error) {
	branches, _, err := remote.Branches(ctx, at)
	return branches[s.Branch], err
}

// discardTimeout limits the removal of a branch, which is not worth a longer wait.
const discardTimeout = 30 * time.Second

// discard removes the branch of the forge's commit.
func (p *Publication) discard(ctx context.Context, at string) {
	if ctx.Err() != nil {
		return // the run ends; it uses the commit when it is resumed
	}
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	if err := remote.Delete(ctx, p.From.Env, p.Remote, p.Signing.Branch, at); err != nil {
		p.warn(fmt.Sprintf("remove the branch %s: %v", p.Signing.Branch, err))
	}
}
