package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Filter selects the repositories of an owner.
type Filter struct {
	Owner    string // organization, group or user; groups include their subgroups
	Topic    string // "" for any
	Search   string // substring of the name or the description, ignoring case; "" for any
	Language string // ignoring case; "" for any
	Archived bool   // include archived ones
	Forks    bool   // include forks
}

// Listing is the repositories that a filter selects, in the order of their paths, and how
// many of those that match it were left out.
type Listing struct {
	Repos                  []Repository
	Archived, Forks, Empty int
}

// ErrIncomplete is a list that lacks repositories which the forge has, or may have.
var ErrIncomplete = errors.New("incomplete list")

// ListRepos returns the repositories that a filter selects. Empty ones are left out: they
// have no commit to start from. It fails unless it received the complete list.
func (c *Client) ListRepos(ctx context.Context, f Filter) (Listing, error) {
	var l Listing
	all, err := c.api.Repos(ctx, f)
	if err != nil {
		return l, err
	}
	seen := map[string]bool{}
	for _, r := range all {
		// A repository that was created meanwhile moves others to the next page.
		if seen[r.Path.String()] || !f.Matches(r) {
			continue
		}
		seen[r.Path.String()] = true
		switch {
		case r.Archived && !f.Archived:
			l.Archived++
		case r.Fork && !f.Forks:
			l.Forks++
		case r.Empty:
			l.Empty++
		default:
			l.Repos = append(l.Repos, r)
		}
	}
	slices.SortFunc(l.Repos, func(a, b Repository) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	return l, nil
}

// Check returns an error for a repository without a name.
func (r Repository) Check() error {
	if r.Path.Owner == "" || r.Path.Name == "" {
		return fmt.Errorf("%w: a repository without a name", ErrResponse)
	}
	return nil
}

// Matches reports whether a repository has what the filter asks for.
func (f Filter) Matches(r Repository) bool {
	text := strings.ToLower(r.Path.Name + "\n" + r.Description)
	return (f.Topic == "" || slices.ContainsFunc(r.Topics, func(t string) bool { return strings.EqualFold(t, f.Topic) })) &&
		(f.Language == "" || strings.EqualFold(r.Language, f.Language)) &&
		strings.Contains(text, strings.ToLower(f.Search))
}

// listRepos sends the requests for a list of repositories, of which J is the form. The
// error is [ErrIncomplete] if the forge announced more of them than it sent.
func listRepos[J interface{ repository() Repository }](ctx context.Context, s *Sender, f Filter, path []string, query url.Values) ([]Repository, error) {
	c := call{what: "list repositories of " + f.Owner, owner: f.Owner, method: http.MethodGet, path: path, query: query}
	var all []Repository
	total := 0
	err := pages(ctx, s, c, func(page []J, header http.Header) bool {
		for _, j := range page {
			all = append(all, j.repository())
		}
		// GitLab's. That of Gitea counts repositories that the token can't see.
		n, _ := strconv.Atoi(header.Get("X-Total"))
		total = max(total, n)
		return true
	})
	if err == nil && len(all) < total {
		err = fmt.Errorf("%s: %s: %w: received %d of %d repositories; try again", c.what, s.base.Host, ErrIncomplete, len(all), total)
	}
	if err == nil && slices.ContainsFunc(all, func(r Repository) bool { return r.Path.Owner == "" || r.Path.Name == "" }) {
		err = fmt.Errorf("%s: %s: %w: a repository without a name", c.what, s.base.Host, ErrResponse)
	}
	return all, err
}

func (g *gitea) Repos(ctx context.Context, f Filter) ([]Repository, error) {
	query := url.Values{"limit": {giteaPage}}
	all, err := listRepos[repoJSON](ctx, g.Sender, f, []string{"orgs", f.Owner, "repos"}, query)
	if errors.Is(err, ErrNotFound) {
		all, err = listRepos[repoJSON](ctx, g.Sender, f, []string{"users", f.Owner, "repos"}, query)
	}
	if err == nil && len(all) == 0 { // the list is also empty for an owner that the token can't see
		_, err = g.send(ctx, call{what: "list repositories of " + f.Owner, owner: f.Owner, method: http.MethodGet, path: []string{"users", f.Owner}})
	}
	return all, err
}
