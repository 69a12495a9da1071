package forge

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// CommitInfo is a commit as the forge has it.
type CommitInfo struct {
	Message string
	Parent  string // first parent; "" for none
}

// commitJSON is a commit of any forge.
type commitJSON struct {
	Message string `json:"message"` // of GitHub and GitLab
	Commit  struct {
		Message string `json:"message"`
	} `json:"commit"` // of Gitea
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
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

func (g *gitea) CommitOf(ctx context.Context, p Path, sha string) (CommitInfo, error) {
	return commitOf(ctx, g.Sender, p, sha, inRepo(p, "git", "commits", sha))
}

func commitOf(ctx context.Context, s *Sender, p Path, sha string, path []string) (CommitInfo, error) {
	var j commitJSON
	_, err := s.send(ctx, call{what: "get commit " + sha + " of " + p.String(), owner: p.Owner, method: http.MethodGet, path: path, out: &j})
	info := CommitInfo{Message: j.Message + j.Commit.Message}
	if len(j.Parents) > 0 {
		info.Parent = j.Parents[0].SHA
	}
	return info, err
}

func (g *gitea) Created(ctx context.Context, p Path, number int64) (time.Time, error) {
	return createdAt(ctx, g.Sender, p, number, inRepo(p, "pulls", decimal(number)))
}

func createdAt(ctx context.Context, s *Sender, p Path, number int64, path []string) (time.Time, error) {
	var j struct {
		At time.Time `json:"created_at"`
	}
	_, err := s.send(ctx, call{what: getWhat(p, number), owner: p.Owner, method: http.MethodGet, path: path, out: &j})
	return j.At, err
}

// timed is a check, a job or a status with its times.
type timed struct {
	Context string     `json:"context"` // of a status of Gitea
	Started *time.Time `json:"started_at"`
	Ended   *time.Time `json:"completed_at"` // of GitHub
	Created *time.Time `json:"created_at"`   // of Gitea
	Updated *time.Time `json:"updated_at"`   // of Gitea
}

func timesWhat(p Path, sha string) string { return "get the checks of " + sha + " of " + p.String() }

// span returns the time between two times; 0 if one is missing.
func span(from, to *time.Time) time.Duration {
	if from != nil && to != nil && to.After(*from) {
		return to.Sub(*from)
	}
	return 0
}

func (g *gitea) CheckTime(ctx context.Context, p Path, sha string) (sum time.Duration, err error) {
	first, last := map[string]*time.Time{}, map[string]*time.Time{}
	c := call{what: timesWhat(p, sha), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "commits", sha, "statuses"), query: url.Values{"limit": {giteaPage}}}
	err = pages(ctx, g.Sender, c, func(page []timed, _ http.Header) bool {
		for _, t := range page {
			if t.Created == nil {
				continue
			}
			if at := first[t.Context]; at == nil || t.Created.Before(*at) {
				first[t.Context] = t.Created
			}
			if at := last[t.Context]; at == nil || t.Updated != nil && t.Updated.After(*at) {
				last[t.Context] = t.Updated
			}
		}
		return true
	})
	for name, from := range first {
		sum += span(from, last[name])
	}
	return sum, err
}
