package forge

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
)

// NewCommit is a commit for the forge to make.
type NewCommit struct {
	Branch  string // exists, and is at Parent
	Parent  string
	Message string
	Files   []File
	// Tip returns the commit of the branch, to find a commit whose response was lost.
	Tip func(context.Context) (string, error)
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

const commitDocument = "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }"

// Commit makes a commit with the forge's own signature on a branch, and returns its hash. Its author is the
// user of the token. The error matches [ErrConflict] if the branch is not at the parent.
func (c *Client) Commit(ctx context.Context, p Path, n NewCommit) (hash string, err error) {
	g, ok := c.api.(GitHubAPI)
	if !ok {
		return "", fmt.Errorf("make a commit in %s: %w by %s", p, ErrInvalid, c.kind)
	}
	return g.Commit(ctx, p, n)
}

func (g *github) Commit(ctx context.Context, p Path, n NewCommit) (hash string, err error) {
	type addition struct {
		Path     string `json:"path"`
		Contents string `json:"contents"`
	}
	type deletion struct {
		Path string `json:"path"`
	}
	additions, deletions := []addition{}, []deletion{}
	for _, f := range n.Files {
		if f.Deleted {
			deletions = append(deletions, deletion{f.Path})
			continue
		}
		additions = append(additions, addition{f.Path, base64.StdEncoding.EncodeToString(f.Content)})
	}
	headline, body, _ := strings.Cut(strings.TrimRight(n.Message, "\n"), "\n")
	input := map[string]any{
		"branch":          map[string]any{"repositoryNameWithOwner": p.String(), "branchName": n.Branch},
		"message":         map[string]any{"headline": headline, "body": strings.TrimLeft(body, "\n")},
		"expectedHeadOid": n.Parent,
		"fileChanges":     map[string]any{"additions": additions, "deletions": deletions},
	}
	var data struct {
		Created struct {
			Commit struct {
				OID string `json:"oid"`
			} `json:"commit"`
		} `json:"createCommitOnBranch"`
	}
	landed := ""
	what := fmt.Sprintf("make a commit on branch %s of %s", n.Branch, p)
	err = g.graphql(ctx, call{what: what, owner: p.Owner, landed: func(ctx context.Context) (bool, error) {
		tip, err := n.Tip(ctx)
		if err != nil || tip == n.Parent {
			return false, err
		}
		landed = tip
		return true, nil
	}}, commitDocument, map[string]any{"input": input}, &data)
	switch {
	case err != nil:
		return "", err
	case landed != "":
		return landed, nil
	case data.Created.Commit.OID == "":
		return "", fmt.Errorf("%s: %w: no hash", what, ErrResponse)
	}
	return data.Created.Commit.OID, nil
}
