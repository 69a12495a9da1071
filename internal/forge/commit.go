package forge

import (
	"context"
	"fmt"
)

// NewCommit is a commit for the forge to make.
type NewCommit struct {
	Branch  string // exists, and is at Parent
	Parent  string
	Message string
	Files   []File
}

// File is a changed file of a [NewCommit]: a regular one that is not executable.
type File struct {
	Path    string
	Content []byte
	Deleted bool
}

// MaxCommit is the maximum total size of the files of a [NewCommit], in bytes.
const MaxCommit = 20 << 20

// Signs reports whether the forge makes commits with a signature of its own.
func (c *Client) Signs() bool { return c.kind == GitHub }

// Kind returns the kind of the forge.
func (c *Client) Kind() Kind { return c.kind }

// Commit makes a commit with the forge's own signature on a branch, and returns its hash. Its author is the
// user of the token. The error matches [ErrConflict] if the branch is not at the parent.
func (c *Client) Commit(ctx context.Context, p Path, n NewCommit) (hash string, err error) {
	if !c.Signs() {
		return "", fmt.Errorf("make a commit in %s: %w by %s", p, ErrInvalid, c.kind)
	}
	return c.api.Commit(ctx, p, n)
}
