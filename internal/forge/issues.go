package forge

import (
	"context"
	"slices"
)

// Issue is an issue as its forge describes it.
type Issue struct {
	Number int64
	URL    string
	Author string
	Bot    bool // the author is an app
	Text   string
}

// OfIssues returns the call of a request about the issues of a repository; the verb is such as "list".
func OfIssues(verb string, p Path) Call {
	return Call{What: verb + " issues of " + p.String(), Repo: p}
}

// AddLabel adds a label to an issue or pull request, and creates it in the repository if it is missing.
func (c *Client) AddLabel(ctx context.Context, p Path, t Thread, label string) error {
	return c.api.AddLabel(ctx, p, t, label)
}

// CreateIssue creates an issue with a marker hidden in its text. Of the newest issues of the token's user, it returns the one with
// the marker instead: an earlier process may have ended before it knew that it had created it.
func (c *Client) CreateIssue(ctx context.Context, p Path, marker, title, body string) (Issue, error) {
	self, err := c.Self(ctx, p.Owner)
	if err != nil {
		return Issue{}, err
	}
	find := func(ctx context.Context) (Issue, error) {
		all, err := c.api.Issues(ctx, p, self)
		at := slices.IndexFunc(all, func(i Issue) bool {
			return (i.Author == self || self == "" && i.Bot) && lastMarker(i.Text) == hidden(marker)
		})
		if at < 0 {
			return Issue{}, err
		}
		return all[at], err
	}
	found, err := find(ctx)
	if err != nil || found.Number != 0 {
		return found, err
	}
	made, err := c.api.CreateIssue(ctx, p, title, Marked(body, marker), func(ctx context.Context) (bool, error) {
		var err error
		found, err = find(ctx)
		return found.Number != 0, err
	})
	if found.Number != 0 {
		made = found
	}
	return made, err
}
