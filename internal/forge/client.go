package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// NewClient returns a client of the API that a sender's requests go to.
func NewClient(s *Sender, api API) *Client {
	return &Client{kind: s.Kind, host: strings.TrimPrefix(s.base.Host, "api."), api: api}
}

// Host returns the host of the forge.
func (c *Client) Host() string { return c.host }

// Repo returns a repository and what the token may do there.
func (c *Client) Repo(ctx context.Context, p Path) (Repository, error) { return c.api.Repo(ctx, p) }

// Find returns the open pull request of a head, else the latest one that was closed or
// merged. The error is [ErrNotFound] if no one exists. Of Gitea, only the last closed ones are searched.
func (c *Client) Find(ctx context.Context, p Path, h Head) (PullRequest, error) {
	all, err := c.FindAll(ctx, p, h)
	return first(all, err, p, h)
}

// FindOpen is like Find for open pull requests.
func (c *Client) FindOpen(ctx context.Context, p Path, h Head) (PullRequest, error) {
	all, err := c.find(ctx, p, h, Open)
	return first(all, err, p, h)
}

func first(all []PullRequest, err error, p Path, h Head) (PullRequest, error) {
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("pull request for %s in %s: %w", h.Branch, p, ErrNotFound)
	}
	if err != nil {
		return PullRequest{}, err
	}
	return all[0], nil
}

// FindAll returns all pull requests for a head: the open ones first, and the newest first.
func (c *Client) FindAll(ctx context.Context, p Path, h Head) ([]PullRequest, error) {
	return c.find(ctx, p, h, "")
}

// find returns the pull requests for a head that have a state, "" for all.
func (c *Client) find(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error) {
	all, err := c.api.Pulls(ctx, p, Own(p, h), state)
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(compareBool(b.State == Open, a.State == Open), cmp.Compare(b.Number, a.Number)) < 0
	})
	return all, err
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Unknown is the path of a head's repository that the forge does not return, because it was deleted. It has branches of its own,
// whatever their names are.
func Unknown() Path { return Path{Owner: "unknown", Name: "repository"} }

// Own returns a head without the repository if that is the one of the pull request.
func Own(p Path, h Head) Head {
	if strings.EqualFold(h.Repo.String(), p.String()) {
		h.Repo = Path{}
	}
	return h
}

// Create creates a pull request, with its labels, reviewers and assignees. created is
// false if an open one for the head existed, which it returns unchanged. If only a later
// step fails, the pull request is returned with the error.
func (c *Client) Create(ctx context.Context, p Path, n New) (pr PullRequest, created bool, err error) {
	n.Head = Own(p, n.Head)
	existing := func(ctx context.Context) (bool, error) {
		found, err := c.FindOpen(ctx, p, n.Head)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
		pr = found
		return pr.Number != 0, nil
	}
	// After a lost response the pull request that exists is the one that was created,
	// unless another process was faster.
	lost := false
	made, err := c.api.Create(ctx, p, n, func(ctx context.Context) (bool, error) {
		lost = true
		return existing(ctx)
	})
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrInvalid) { // perhaps a duplicate
		if found, err := existing(ctx); err == nil && found && !lost {
			return pr, false, nil
		}
	}
	if pr.Number == 0 && err == nil {
		pr = made
	}
	if pr.Number == 0 {
		return PullRequest{}, false, err
	}
	return pr, true, c.api.Change(ctx, p, pr, Change{Labels: n.Labels, Reviewers: n.Reviewers, Assignees: n.Assignees})
}

// Update changes a pull request and returns it.
func (c *Client) Update(ctx context.Context, p Path, number int64, change Change) (PullRequest, error) {
	pr, err := c.api.Pull(ctx, p, number)
	if err != nil {
		return PullRequest{}, err
	}
	if err := c.api.Change(ctx, p, pr, change); err != nil {
		return pr, err
	}
	return c.api.Pull(ctx, p, number)
}

// Get returns a pull request with its checks.
func (c *Client) Get(ctx context.Context, p Path, number int64) (PullRequest, error) {
	pr, err := c.api.Pull(ctx, p, number)
	if err != nil {
		return pr, err
	}
	return c.api.Checks(ctx, p, pr)
}

// MergeMethod is how a pull request is merged.
type MergeMethod string

// The methods.
const (
	MergeCommit MergeMethod = "merge"
	Squash      MergeMethod = "squash"
	Rebase      MergeMethod = "rebase" // GitLab merges as the project is configured
)

// Merge merges a pull request if its head still is at the commit sha. Merging a merged one
// is a success. Whether checks passed is up to the caller and the repository's rules.
func (c *Client) Merge(ctx context.Context, p Path, number int64, sha string, method MergeMethod) error {
	pr, err := c.api.Pull(ctx, p, number)
	what := fmt.Sprintf("merge pull request %d of %s", number, p)
	switch {
	case err != nil:
		return err
	case pr.State == Merged:
		return nil
	case pr.State == Closed:
		return fmt.Errorf("%s: %w: it is closed", what, ErrConflict)
	case pr.SHA != sha:
		return fmt.Errorf("%s: %w: its head is at %.10s, not at %.10s", what, ErrConflict, pr.SHA, sha)
	}
	return c.api.Merge(ctx, p, pr, method, func(ctx context.Context) (bool, error) {
		now, err := c.api.Pull(ctx, p, number)
		return now.State == Merged, err
	})
}

// Close closes a pull request without merging it.
func (c *Client) Close(ctx context.Context, p Path, number int64) error {
	pr, err := c.api.Pull(ctx, p, number)
	if err != nil || pr.State != Open {
		return err
	}
	return c.api.Change(ctx, p, pr, Change{State: Closed})
}

// CheckThread checks that an issue or pull request exists. The error is [ErrNotFound] if it
// does not.
func (c *Client) CheckThread(ctx context.Context, p Path, t Thread) error {
	_, err := c.api.Comments(ctx, p, t)
	return err
}

// Comment creates a comment, or updates the last one of the token's user with the same
// marker, which is hidden in the text: letters, digits and dashes.
func (c *Client) Comment(ctx context.Context, p Path, t Thread, marker, body string) (Comment, error) {
	found, err := c.Sticky(ctx, p, t, marker)
	if err != nil {
		return Comment{}, err
	}
	return c.Replace(ctx, p, t, found, marker, body)
}

// Replace updates the comment that Sticky has found, or creates one if that is zero.
func (c *Client) Replace(ctx context.Context, p Path, t Thread, found Comment, marker, body string) (Comment, error) {
	body = Marked(body, marker)
	if found.ID != 0 && strings.TrimSpace(found.Text) == strings.TrimSpace(body) {
		return found, nil
	}
	var applied Comment
	made, err := c.api.Comment(ctx, p, t, found.ID, body, func(ctx context.Context) (bool, error) {
		var err error
		applied, err = c.Sticky(ctx, p, t, marker)
		return applied.ID != 0, err
	})
	if applied.ID != 0 {
		made = applied
	}
	made.Created = found.ID == 0
	return made, err
}

// hidden is a marker in a text.
func hidden(marker string) string { return markerStart + marker + markerEnd }

const (
	markerStart = "<!-- millhand:"
	markerEnd   = " -->"
)

// Fork returns the fork of a repository in the account into, "" for the token's user, and
// creates it if it is missing. A new one may lack its branches for a while.
func (c *Client) Fork(ctx context.Context, p Path, into string) (Repository, error) {
	at, fork, err := c.FindFork(ctx, p, into)
	if at.Owner == "" || !errors.Is(err, ErrNotFound) {
		return fork, err
	}
	self, err := c.api.Self(ctx, at.Owner)
	if err != nil && !errors.Is(err, ErrDenied) && !errors.Is(err, ErrNotFound) {
		return Repository{}, err
	}
	err = c.api.Fork(ctx, p, at.Owner, strings.EqualFold(at.Owner, self), func(ctx context.Context) (bool, error) {
		_, err := c.api.Repo(ctx, at)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil && !errors.Is(err, ErrConflict) {
		return Repository{}, err
	}
	_, fork, err = c.FindFork(ctx, p, at.Owner)
	return fork, err
}

// FindFork returns the fork of a repository in the account into, "" for the token's user,
// and its path. The error is [ErrNotFound], with the path, if it does not exist, and
// [ErrConflict] for a repository that is not a fork of p.
func (c *Client) FindFork(ctx context.Context, p Path, into string) (Path, Repository, error) {
	if into == "" {
		self, err := c.api.Self(ctx, p.Owner)
		if err != nil {
			return Path{}, Repository{}, fmt.Errorf("fork %s: user of the token: %w", p, err)
		}
		into = self
	}
	at := Path{into, p.Name}
	fork, err := c.api.Repo(ctx, at)
	switch {
	case err != nil:
		return at, Repository{}, err
	case !fork.Fork || fork.Parent != (Path{}) && !strings.EqualFold(fork.Parent.String(), p.String()):
		return at, Repository{}, fmt.Errorf("fork %s: %w: %s exists and is not a fork of it", p, ErrConflict, at)
	}
	return at, fork, nil
}
