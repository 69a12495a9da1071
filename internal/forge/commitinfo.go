package forge

import (
	"context"
	"time"
)

// CommitInfo is a commit as the forge has it.
type CommitInfo struct {
	Message string
	Parent  string // first parent; "" for none
}

// CommitOf returns a commit of a repository.
func (c *Client) CommitOf(ctx context.Context, p Path, sha string) (CommitInfo, error) {
	return c.api.CommitOf(ctx, p, sha)
}

// Created returns when a pull request was created.
func (c *Client) Created(ctx context.Context, p Path, number int64) (time.Time, error) {
	return c.api.Created(ctx, p, number)
}

// CheckTime returns how long the completed checks of a commit have run: the check runs of
// GitHub, the jobs of GitLab, and the statuses of Gitea, each from its first to its last
// state.
func (c *Client) CheckTime(ctx context.Context, p Path, sha string) (time.Duration, error) {
	return c.api.CheckTime(ctx, p, sha)
}
