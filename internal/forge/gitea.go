package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// gitea is the API of Gitea and Forgejo.
type gitea struct{ *Sender }

// NewGitea returns the API of Gitea and Forgejo.
func NewGitea(s *Sender) API { return &gitea{s} }

const (
	giteaPage   = "50" // the default maximum page size of servers
	giteaDraft  = "WIP: "
	giteaClosed = 2000 // closed pull requests that are searched

	// A merge is repeated while the server is checking whether there are conflicts, as it
	// does after each push and after each merge into the same base.
	giteaMerges    = 6
	giteaMergeWait = 2 * time.Second
)

func (g *gitea) Repo(ctx context.Context, p Path) (Repository, error) {
	return getRepo(ctx, g.Sender, p)
}

func (g *gitea) Self(ctx context.Context, owner string) (string, error) {
	return getLogin(ctx, g.Sender, owner)
}

// pulls filters by the head itself, because the server can't.
func (g *gitea) Pulls(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error) {
	var found []PullRequest
	c := call{what: findWhat(p, h), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "pulls"), query: url.Values{"state": {"open"}, "limit": {giteaPage}}}
	err := eachPull(ctx, g.Sender, c, p, func(pr PullRequest) bool {
		if pr.Head == h {
			found = append(found, Plain(pr, giteaDraft))
		}
		return true
	})
	if err != nil || len(found) > 0 || state == Open {
		return found, err
	}
	seen := 0
	c.query = url.Values{"state": {"closed"}, "sort": {"recentupdate"}, "limit": {giteaPage}}
	err = eachPull(ctx, g.Sender, c, p, func(pr PullRequest) bool {
		if pr.Head == h {
			found = append(found, Plain(pr, giteaDraft))
		}
		seen++
		return len(found) == 0 && seen < giteaClosed
	})
	return found, err
}

func (g *gitea) Create(ctx context.Context, p Path, n New, landed func(context.Context) (bool, error)) (PullRequest, error) {
	title, _ := Titled(PullRequest{Title: n.Title, Draft: n.Draft}, Change{}, giteaDraft)
	body := map[string]any{"title": title, "body": n.Body, "base": n.Base, "head": n.Head.Branch}
	if n.Head.Repo != (Path{}) {
		body["head"] = n.Head.Repo.String() + ":" + n.Head.Branch
	}
	pr, err := sendPull(ctx, g.Sender, p, call{what: createWhat(p, n.Head), method: http.MethodPost, path: inRepo(p, "pulls"), body: body, landed: landed})
	return Plain(pr, giteaDraft), err
}

func (g *gitea) Change(ctx context.Context, p Path, pr PullRequest, c Change) error {
	edit := fields(c)
	delete(edit, "title")
	if title, changed := Titled(pr, c, giteaDraft); changed {
		edit["title"] = title
	}
	if len(c.Assignees) > 0 { // the list replaces the present one
		edit["assignees"] = Union(pr.Assignees, c.Assignees)
	}
	users, teams := Reviewers(c.Reviewers)
	number := decimal(pr.Number)
	for _, step := range []struct {
		method string
		path   []string
		body   map[string]any
	}{
		{http.MethodPatch, inRepo(p, "pulls", number), edit},
		{http.MethodPost, inRepo(p, "pulls", number, "requested_reviewers"), joined(list("reviewers", users), list("team_reviewers", teams))},
	} {
		if len(step.body) == 0 {
			continue
		}
		if _, err := g.send(ctx, call{what: changeWhat(p, pr.Number), owner: p.Owner, method: step.method, path: step.path, body: step.body}); err != nil {
			return err
		}
	}
	return g.addLabels(ctx, p, pr.Number, c.Labels)
}

// addLabels adds labels, of the repository or its organization. The server ignores those
// that don't exist, which is an error here, after the others were added.
func (g *gitea) addLabels(ctx context.Context, p Path, number int64, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	var present []labelJSON
	c := call{
		what: changeWhat(p, number), owner: p.Owner, method: http.MethodPost, path: inRepo(p, "issues", decimal(number), "labels"),
		body: list("labels", labels), out: &present,
	}
	if _, err := g.send(ctx, c); err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(labels), func(name string) bool {
		return slices.ContainsFunc(present, func(l labelJSON) bool { return l.Name == name })
	})
	if len(missing) > 0 {
		return fmt.Errorf("%s: labels %w: %s; create them in the repository or its organization", c.what, ErrNotFound, strings.Join(missing, ", "))
	}
	return nil
}

func (g *gitea) Pull(ctx context.Context, p Path, number int64) (PullRequest, error) {
	pr, err := sendPull(ctx, g.Sender, p, call{what: getWhat(p, number), method: http.MethodGet, path: inRepo(p, "pulls", decimal(number))})
	pr = Plain(pr, giteaDraft)
	if pr.Conflict { // or the server is checking: its response is the same
		pr.Mergeable = MergeUnknown
	}
	return pr, err
}

// Checks looks at each status: the server combines only those of one page.
func (g *gitea) Checks(ctx context.Context, p Path, pr PullRequest) (PullRequest, error) {
	list, err := g.CheckList(ctx, p, pr.SHA)
	pr.Checks = summary(list)
	return pr, err
}

func (g *gitea) Merge(ctx context.Context, p Path, pr PullRequest, method MergeMethod, landed func(context.Context) (bool, error)) error {
	c := call{
		what: mergeWhat(p, pr.Number), owner: p.Owner, method: http.MethodPost, path: inRepo(p, "pulls", decimal(pr.Number), "merge"),
		body: map[string]any{"do": method, "head_commit_id": pr.SHA}, landed: landed,
	}
	for tries := 1; ; tries++ {
		_, err := g.send(ctx, c)
		var refused *Error
		if tries == giteaMerges || !errors.As(err, &refused) || refused.Status != http.StatusMethodNotAllowed || !strings.Contains(refused.Message, "try again later") {
			return err
		}
		if err := g.Sleep.For(ctx, giteaMergeWait); err != nil {
			return err
		}
	}
}

func (g *gitea) Comments(ctx context.Context, p Path, t Thread) ([]Comment, error) {
	// Of a missing issue, the list is a failure of the server.
	_, err := g.send(ctx, call{what: commentWhat(p, t), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "issues", decimal(t.Number))})
	if err != nil {
		return nil, err
	}
	return getComments(ctx, g.Sender, p, t, nil) // all on one page
}

func (g *gitea) Comment(ctx context.Context, p Path, t Thread, id int64, body string, landed func(context.Context) (bool, error)) (Comment, error) {
	return sendComment(ctx, g.Sender, p, t, id, body, landed)
}

func (g *gitea) Fork(ctx context.Context, p Path, into string, own bool, landed func(context.Context) (bool, error)) error {
	return sendFork(ctx, g.Sender, p, into, own, landed)
}
