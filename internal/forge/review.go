package forge

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// FileDiff is a changed file of a pull request.
type FileDiff struct {
	Old, Path string // names before and after; equal unless it was renamed
	Hunks     string // of the unified diff; "" for a binary file, or if the forge finds it too large
}

// LineComment is a comment on a line of the diff of a pull request.
type LineComment struct {
	ID       int64
	Thread   string // GitLab's discussion
	Author   string
	Bot      bool // an app
	Body     string
	Marker   string // the last one of the text; "" for none
	Resolved bool   // never of GitHub, whose REST API does not report it
}

// NewLine is a comment to create on a line of the new version of a file, which its diff shows.
type NewLine struct {
	Old, Path string
	Line      int
	OldLine   int    // in the old version; 0 for an added line
	Body      string // with its marker
	Marker    string
}

// Review is comments to create on lines of a pull request's diff.
type Review struct {
	Pull  PullRequest // with the commits that were compared
	Text  string      // of the review itself; GitLab has none
	Lines []NewLine
}

// Pull returns a pull request.
func (c *Client) Pull(ctx context.Context, p Path, number int64) (PullRequest, error) {
	return c.api.Pull(ctx, p, number)
}

// Diff returns the changed files of a pull request, as the forge shows them.
func (c *Client) Diff(ctx context.Context, p Path, number int64) ([]FileDiff, error) {
	return c.api.Diff(ctx, p, number)
}

// OwnLines returns the comments of the token's user on lines of a pull request. A token whose user is unknown is that of an app.
func (c *Client) OwnLines(ctx context.Context, p Path, number int64) ([]LineComment, error) {
	self, err := c.Self(ctx, p.Owner)
	if err != nil {
		return nil, err
	}
	all, err := c.api.LineComments(ctx, p, number)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(l LineComment) bool { return l.Author != self && (self != "" || !l.Bot) })
	for i := range all {
		if marker, ok := strings.CutPrefix(lastMarker(all[i].Body), markerStart); ok {
			all[i].Marker = strings.TrimSuffix(marker, markerEnd)
		}
	}
	return all, nil
}

// Marked returns a text with a marker at its end, as comments with that marker have it.
func Marked(body, marker string) string {
	return strings.TrimRight(body, "\n") + "\n\n" + hidden(marker) + "\n"
}

// Unmarked returns a text without the marker at its end.
func Unmarked(body, marker string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(body), hidden(marker)), "\n")
}

// CreateReview creates a review with comments on lines: all of them in one request, except on GitLab, where each is a discussion.
// Comments whose markers exist are not created again after a lost response. The error matches [ErrInvalid] if the forge
// does not accept one of the lines.
func (c *Client) CreateReview(ctx context.Context, p Path, r Review) error {
	return c.api.Review(ctx, p, r, func(ctx context.Context, l NewLine) (bool, error) {
		all, err := c.OwnLines(ctx, p, r.Pull.Number)
		return slices.ContainsFunc(all, func(o LineComment) bool { return o.Marker == l.Marker }), err
	})
}

// EditLine replaces the text of a comment on a line, and resolves its thread or opens it again. GitHub's threads stay as they
// are: only a token that may write the repository's contents can resolve them.
func (c *Client) EditLine(ctx context.Context, p Path, number int64, l LineComment, body string, resolved bool) error {
	return c.api.EditLine(ctx, p, number, l, body, resolved)
}

// OfReview returns the call of a request about the comments on the lines of a pull request.
func OfReview(p Path, number int64) Call {
	return Call{What: fmt.Sprintf("review pull request %d of %s", number, p), Repo: p}
}
