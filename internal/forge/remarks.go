package forge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Remark is what somebody wrote on a pull request: a comment, a comment on a line, or the text
// of a review.
type Remark struct {
	ID     string // unique in the pull request
	Author string
	Bot    bool // an app
	URL    string
	Body   string
	Path   string // of the file that it is on; "" for none
	Line   int    // 0 for none
	At     time.Time
	Edited time.Time // last change; zero if the forge does not report it
}

// Remarks returns the remarks on a pull request, without approvals.
func (c *Client) Remarks(ctx context.Context, p Path, number int64) ([]Remark, error) {
	return c.Conversation(ctx, p, Thread{Number: number})
}

// Conversation returns the remarks on an issue or pull request, without approvals.
func (c *Client) Conversation(ctx context.Context, p Path, t Thread) ([]Remark, error) {
	all, err := c.api.Remarks(ctx, p, t)
	slices.SortStableFunc(all, func(a, b Remark) int { return a.At.Compare(b.At) })
	return all, err
}

// Writes reports whether a user has write access to a repository.
func (c *Client) Writes(ctx context.Context, p Path, user string) (bool, error) {
	if user == "" || strings.ContainsAny(user, "/\\") {
		return false, nil
	}
	can, err := c.api.Writes(ctx, p, user)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return can, err
}

// Self returns the name of the token's user, of an app's token NAME[bot]; "" if the forge does not report it.
func (c *Client) Self(ctx context.Context, owner string) (string, error) {
	self, err := c.api.Self(ctx, owner)
	if !errors.Is(err, ErrDenied) && !errors.Is(err, ErrNotFound) {
		return self, err
	}
	self, err = c.api.App(ctx, owner)
	if !errors.Is(err, ErrDenied) && !errors.Is(err, ErrNotFound) {
		return self, err
	}
	return "", context.Cause(ctx)
}

// Sticky returns the comment that [Client.Comment] updates; zero if it does not exist. A comment of
// anybody else with the marker is left alone: they could edit it. A token whose user is unknown is that of an app.
func (c *Client) Sticky(ctx context.Context, p Path, t Thread, marker string) (Comment, error) {
	self, err := c.Self(ctx, p.Owner)
	if err != nil {
		return Comment{}, err
	}
	all, err := c.api.Comments(ctx, p, t)
	for _, found := range slices.Backward(all) {
		mine := found.Author == self || self == "" && found.Bot
		if mine && lastMarker(found.Text) == hidden(marker) {
			return found, err
		}
	}
	return Comment{}, err
}

// lastMarker returns the last marker in a comment, which [Client.Replace] appends: texts before it can quote others.
func lastMarker(text string) string {
	from := max(strings.LastIndex(text, markerStart), 0)
	marker, _, _ := strings.Cut(text[from:], markerEnd)
	return marker + markerEnd
}
