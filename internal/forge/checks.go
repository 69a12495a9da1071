package forge

import (
	"context"
	"errors"
	"slices"
)

// Check is one check of a commit, as CI reports it.
type Check struct {
	Name   string
	Status Checks // ChecksPending, ChecksPassed or ChecksFailed
	Text   string // that the CI has attached, such as a summary; "" for none
	URL    string // of its page; "" for none
	Job    int64  // whose log can be read; 0 for none
}

// CheckList returns the checks of a commit. Of several with the same name the latest counts.
// sha is the commit, of a pull request's head or base.
func (c *Client) CheckList(ctx context.Context, p Path, sha string) ([]Check, error) {
	return c.api.CheckList(ctx, p, sha)
}

// CheckLog returns the end of the log of a check, at most so many bytes; "" if the forge has
// none, or has deleted it.
func (c *Client) CheckLog(ctx context.Context, p Path, check Check, most int) (string, error) {
	if check.Job == 0 {
		return "", nil
	}
	text, err := c.api.CheckLog(ctx, p, check, most)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return text, err
}

// Latest returns the checks without earlier ones of the same name; the list starts with the
// newest.
func Latest(all []Check) (list []Check) {
	for _, c := range all {
		if !slices.ContainsFunc(list, func(o Check) bool { return o.Name == c.Name }) {
			list = append(list, c)
		}
	}
	return list
}

// With adds a summary: a failure counts more than what is pending, and that more than
// what passed.
func (c Checks) With(other Checks) Checks {
	order := []Checks{NoChecks, ChecksPassed, ChecksPending, ChecksFailed}
	return order[max(slices.Index(order, c), slices.Index(order, other))]
}
