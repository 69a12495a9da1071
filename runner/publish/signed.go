package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
)

// SigningPrefix is the start of the names of the branches on which a forge makes commits. They
// exist for some seconds.
const SigningPrefix = "millhand-signing/"

// Signing makes the forge repeat a commit, with its own signature, before it is pushed.
type Signing struct {
	Client *forge.Client
	Repo   forge.Path // that the commit is pushed to
	Branch string     // of the forge's commit; see SigningPrefix
	Base   string     // parent of the commit
	// New returns the commit to make. Its branch, parent and tip are set by the publication.
	// nil: the forge has made the commit of the publication, and only the branch may be left.
	New func() (forge.NewCommit, error)
	// Check returns an error unless a fetched commit has the files and the parent of the
	// original one, and a signature.
	Check func(hash string) error
	// Made is called with the hash of the forge's commit.
	Made func(ctx context.Context, hash string) error
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
	if s == nil || s.New == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("timed out after %s", pushTimeout))
	defer cancel()
	tip, err := s.tip(ctx, p.Remote)
	if err != nil {
		return err
	}
	if tip == "" || tip == s.Base {
		c, err := s.New()
		if err != nil {
			return err
		}
		if tip == "" {
			if err := remote.Push(ctx, p.From, remote.PushOptions{Remote: p.Remote, Commit: s.Base, Branch: s.Branch}); err != nil {
				return err
			}
		}
		c.Branch, c.Parent = s.Branch, s.Base
		c.Tip = func(ctx context.Context) (string, error) { return s.tip(ctx, p.Remote) }
		if tip, err = s.Client.Commit(ctx, s.Repo, c); err != nil {
			p.discard(ctx, s.Base)
			return err
		}
	}
	fetched, err := remote.Fetch(ctx, p.From, p.Remote, s.Branch)
	if err == nil && fetched != tip {
		err = fmt.Errorf("%w: %s is at %.10s", remote.ErrLease, s.Branch, fetched)
	}
	if err == nil {
		err = s.Check(tip)
	}
	if err == nil {
		err = s.Made(ctx, tip)
	}
	if err != nil {
		p.discard(ctx, tip)
		return err
	}
	p.Commit = tip
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
