package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
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
	sort.Slice(l.Repos, func(i, j int) bool { return l.Repos[i].Path.String() < l.Repos[j].Path.String() })
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
