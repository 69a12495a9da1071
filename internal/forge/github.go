package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// github is the REST API of GitHub.
type github struct{ *Sender }

// NewGitHub returns the API of GitHub.
func NewGitHub(s *Sender) API { return &github{s} }

// perPage is the maximum page size of GitHub and GitLab.
const perPage = "100"

func (g *github) Repo(ctx context.Context, p Path) (Repository, error) {
	return getRepo(ctx, g.Sender, p)
}

func (g *github) Self(ctx context.Context, owner string) (string, error) {
	return getLogin(ctx, g.Sender, owner)
}

func (g *github) Pulls(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error) {
	of := p
	if h.Repo != (Path{}) {
		of = h.Repo
	}
	c := call{
		what: findWhat(p, h), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "pulls"),
		query: url.Values{"head": {of.Owner + ":" + h.Branch}, "state": {cmp.Or(string(state), "all")}, "per_page": {perPage}},
	}
	var found []PullRequest
	err := eachPull(ctx, g.Sender, c, p, func(pr PullRequest) bool {
		if pr.Head == h { // an owner can have several forks
			found = append(found, pr)
		}
		return true
	})
	return found, err
}

func (g *github) Create(ctx context.Context, p Path, n New, landed func(context.Context) (bool, error)) (PullRequest, error) {
	body := map[string]any{"title": n.Title, "body": n.Body, "base": n.Base, "head": n.Head.Branch, "draft": n.Draft}
	if n.Head.Repo != (Path{}) {
		body["head"] = n.Head.Repo.Owner + ":" + n.Head.Branch
		if n.Head.Repo.Owner == p.Owner {
			body["head"], body["head_repo"] = n.Head.Branch, n.Head.Repo.Name
		}
	}
	return sendPull(ctx, g.Sender, p, call{what: createWhat(p, n.Head), method: http.MethodPost, path: inRepo(p, "pulls"), body: body, landed: landed})
}

func (g *github) Change(ctx context.Context, p Path, pr PullRequest, c Change) error {
	if c.Draft != nil && *c.Draft != pr.Draft {
		return fmt.Errorf("%s: draft state: %w by GitHub's REST API", changeWhat(p, pr.Number), errors.ErrUnsupported)
	}
	users, teams := Reviewers(c.Reviewers)
	number := decimal(pr.Number)
	for _, step := range []struct {
		method string
		path   []string
		body   map[string]any
	}{
		{http.MethodPatch, inRepo(p, "pulls", number), fields(c)},
		{http.MethodPost, inRepo(p, "issues", number, "labels"), list("labels", c.Labels)},
		{http.MethodPost, inRepo(p, "issues", number, "assignees"), list("assignees", c.Assignees)},
		{http.MethodPost, inRepo(p, "pulls", number, "requested_reviewers"), joined(list("reviewers", users), list("team_reviewers", teams))},
	} {
		if len(step.body) == 0 {
			continue
		}
		if _, err := g.send(ctx, call{what: changeWhat(p, pr.Number), owner: p.Owner, method: step.method, path: step.path, body: step.body}); err != nil {
			return err
		}
	}
	return nil
}

func (g *github) Pull(ctx context.Context, p Path, number int64) (PullRequest, error) {
	return sendPull(ctx, g.Sender, p, call{what: getWhat(p, number), method: http.MethodGet, path: inRepo(p, "pulls", decimal(number))})
}

type githubRuns struct {
	Runs []githubRun `json:"check_runs"`
}

// githubRun is a check run.
type githubRun struct {
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
}

func (g *github) Checks(ctx context.Context, p Path, pr PullRequest) (PullRequest, error) {
	c := call{what: getWhat(p, pr.Number), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "commits", pr.SHA, "check-runs"), query: url.Values{"per_page": {perPage}}}
	err := eachPage(ctx, g.Sender, c, func(page githubRuns, _ http.Header) (int, bool) {
		for _, run := range page.Runs {
			pr.Checks = pr.Checks.With(run.summary())
		}
		return len(page.Runs), true
	})
	if err != nil {
		return pr, err
	}
	status, err := g.combinedStatus(ctx, p, pr)
	pr.Checks = pr.Checks.With(status)
	if err == nil && pr.Ruled {
		pr.Blocked, _ = g.blocked(ctx, p, pr) // without it, the reason is a guess
	}
	return pr, err
}

func (g *github) AddLabel(ctx context.Context, p Path, pr PullRequest, label string) error {
	return g.Change(ctx, p, pr, Change{Labels: []string{label}})
}

type statusJSON struct {
	State string `json:"state"`
	Total int    `json:"total_count"`
}

// combinedStatus returns the commit statuses of a pull request's head, which are not check runs.
func (g *github) combinedStatus(ctx context.Context, p Path, pr PullRequest) (Checks, error) {
	var j statusJSON
	_, err := g.send(ctx, call{what: getWhat(p, pr.Number), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "commits", pr.SHA, "status"), out: &j})
	switch {
	case err != nil || j.Total == 0:
		return NoChecks, err
	case j.State == "pending":
		return ChecksPending, nil
	case j.State == "success":
		return ChecksPassed, nil
	}
	return ChecksFailed, nil
}

func (r githubRun) summary() Checks {
	switch {
	case r.Status != "completed":
		return ChecksPending
	case r.Conclusion == "success" || r.Conclusion == "neutral" || r.Conclusion == "skipped":
		return ChecksPassed
	}
	return ChecksFailed
}

// blocked asks what blocks a pull request: of the rules, GitHub names only the one about reviews.
func (g *github) blocked(ctx context.Context, p Path, pr PullRequest) (string, error) {
	var data struct {
		Repository struct {
			PullRequest struct {
				Decision string `json:"reviewDecision"` // null without a rule
			} `json:"pullRequest"`
		} `json:"repository"`
	}
	err := g.graphql(ctx, call{what: getWhat(p, pr.Number), owner: p.Owner}, reviewDocument, map[string]any{"owner": p.Owner, "name": p.Name, "number": pr.Number}, &data)
	switch data.Repository.PullRequest.Decision {
	case "REVIEW_REQUIRED":
		return NeedsReview, err
	case "CHANGES_REQUESTED":
		return NeedsChanges, err
	}
	return "", err
}

const reviewDocument = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewDecision } } }"

func (g *github) Merge(ctx context.Context, p Path, pr PullRequest, method MergeMethod, landed func(context.Context) (bool, error)) error {
	_, err := g.send(ctx, call{
		what: mergeWhat(p, pr.Number), owner: p.Owner, method: http.MethodPut, path: inRepo(p, "pulls", decimal(pr.Number), "merge"),
		body: map[string]any{"sha": pr.SHA, "merge_method": method}, landed: landed,
	})
	return err
}

func (g *github) Comments(ctx context.Context, p Path, t Thread) ([]Comment, error) {
	return getComments(ctx, g.Sender, p, t, url.Values{"per_page": {perPage}})
}

func (g *github) Comment(ctx context.Context, p Path, t Thread, id int64, body string, landed func(context.Context) (bool, error)) (Comment, error) {
	return sendComment(ctx, g.Sender, p, t, id, body, landed)
}

func (g *github) Fork(ctx context.Context, p Path, into string, own bool, landed func(context.Context) (bool, error)) error {
	return sendFork(ctx, g.Sender, p, into, own, landed)
}
