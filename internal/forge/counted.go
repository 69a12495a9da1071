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
	Message   string   `json:"message"`    // of GitHub and GitLab
	ParentIDs []string `json:"parent_ids"` // of GitLab
	Commit    struct {
		Message string `json:"message"`
	} `json:"commit"` // of Gitea
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}

// CommitOf returns a commit of a repository.
func (c *Client) CommitOf(ctx context.Context, p Path, sha string) (CommitInfo, error) {
	var j commitJSON
	s, path := c.api.resource(p, []string{"git", "commits", sha}, []string{"repository", "commits", sha})
	_, err := s.send(ctx, call{what: "get commit " + sha + " of " + p.String(), owner: p.Owner, method: http.MethodGet, path: path, out: &j})
	info := CommitInfo{Message: j.Message + j.Commit.Message}
	if len(j.ParentIDs) > 0 {
		info.Parent = j.ParentIDs[0]
	}
	if len(j.Parents) > 0 {
		info.Parent = j.Parents[0].SHA
	}
	return info, err
}

// Created returns when a pull request was created.
func (c *Client) Created(ctx context.Context, p Path, number int64) (time.Time, error) {
	var j struct {
		At time.Time `json:"created_at"`
	}
	s, path := c.api.resource(p, []string{"pulls", decimal(number)}, []string{"merge_requests", decimal(number)})
	_, err := s.send(ctx, call{what: getWhat(p, number), owner: p.Owner, method: http.MethodGet, path: path, out: &j})
	return j.At, err
}

// timed is a check, a job or a status with its times.
type timed struct {
	Context string     `json:"context"` // of a status of Gitea
	Started *time.Time `json:"started_at"`
	Ended   *time.Time `json:"completed_at"` // of GitHub
	Finish  *time.Time `json:"finished_at"`  // of GitLab
	Created *time.Time `json:"created_at"`   // of Gitea
	Updated *time.Time `json:"updated_at"`   // of Gitea
}

// CheckTime returns how long the completed checks of a commit have run: the check runs of
// GitHub, the jobs of GitLab, and the statuses of Gitea, each from its first to its last
// state.
func (c *Client) CheckTime(ctx context.Context, p Path, sha string) (sum time.Duration, err error) {
	add := func(from, to *time.Time) {
		if from != nil && to != nil && to.After(*from) {
			sum += to.Sub(*from)
		}
	}
	s, path := c.api.resource(p, []string{"commits", sha, "statuses"}, []string{"repository", "commits", sha, "statuses"})
	request := call{what: "get the checks of " + sha + " of " + p.String(), owner: p.Owner, method: http.MethodGet, path: path, query: url.Values{"per_page": {perPage}}}
	if c.kind == GitHub {
		request.path = inRepo(p, "commits", sha, "check-runs")
		type runs struct {
			Runs []timed `json:"check_runs"`
		}
		err := eachPage(ctx, s, request, func(page runs, _ http.Header) (int, bool) {
			for _, run := range page.Runs {
				add(run.Started, run.Ended)
			}
			return len(page.Runs), true
		})
		return sum, err
	}
	if c.kind == Gitea {
		request.query = url.Values{"limit": {giteaPage}}
	}
	type span struct{ from, to *time.Time }
	contexts := map[string]span{}
	err = pages(ctx, s, request, func(page []timed, _ http.Header) bool {
		for _, t := range page {
			add(t.Started, t.Finish)
			if c.kind != Gitea || t.Created == nil {
				continue
			}
			is := contexts[t.Context]
			if is.from == nil || t.Created.Before(*is.from) {
				is.from = t.Created
			}
			if is.to == nil || t.Updated != nil && t.Updated.After(*is.to) {
				is.to = t.Updated
			}
			contexts[t.Context] = is
		}
		return true
	})
	for _, is := range contexts {
		add(is.from, is.to)
	}
	return sum, err
}

func (f *github) resource(p Path, rest, _ []string) (*Sender, []string) {
	return f.Sender, inRepo(p, rest...)
}

func (f *gitea) resource(p Path, rest, _ []string) (*Sender, []string) {
	return f.Sender, inRepo(p, rest...)
}

func (f *gitlab) resource(p Path, _, project []string) (*Sender, []string) {
	return f.Sender, inProject(p, project...)
}
