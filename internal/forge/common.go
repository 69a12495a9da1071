package forge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Gitea's API resembles that of GitHub: what both share is in this file.

type refJSON struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"` // null if a fork was deleted
}

type pullJSON struct {
	Number    int64      `json:"number"`
	URL       string     `json:"html_url"`
	State     string     `json:"state"`
	Title     string     `json:"title"`
	Body      string     `json:"body"`
	Draft     bool       `json:"draft"`
	Merged    bool       `json:"merged"` // lists of GitHub lack it
	MergedAt  string     `json:"merged_at"`
	Mergeable *bool      `json:"mergeable"`
	Head      refJSON    `json:"head"`
	Base      refJSON    `json:"base"`
	Assignees []userJSON `json:"assignees"`
	// MergeState has a reason why it can't be merged; GitHub's.
	MergeState string      `json:"mergeable_state"`
	Labels     []labelJSON `json:"labels"`
	UpdatedAt  string      `json:"updated_at"`
}

type userJSON struct {
	Login string `json:"login"`
	Type  string `json:"type"` // GitHub's: "Bot" for apps
}

type labelJSON struct {
	Name string `json:"name"`
}

type repoJSON struct {
	FullName      string   `json:"full_name"`
	CloneURL      string   `json:"clone_url"`
	DefaultBranch string   `json:"default_branch"`
	Description   string   `json:"description"`
	Language      string   `json:"language"`
	Topics        []string `json:"topics"`
	Archived      bool     `json:"archived"`
	Fork          bool     `json:"fork"`
	Empty         bool     `json:"empty"` // Gitea's
	Size          *int64   `json:"size"`  // in KB
	Parent        *struct {
		FullName string `json:"full_name"`
	} `json:"parent"`
	Permissions *struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

type commentJSON struct {
	ID   int64    `json:"id"`
	URL  string   `json:"html_url"`
	Body string   `json:"body"`
	User userJSON `json:"user"`
}

// pullRequest converts a pull request of the repository p.
func (j pullJSON) pullRequest(p Path) (PullRequest, error) {
	if err := CheckPull(j.Number, j.URL); err != nil {
		return PullRequest{}, err
	}
	pr := PullRequest{
		Number: j.Number, URL: j.URL, State: Open, Title: j.Title, Body: j.Body, Draft: j.Draft,
		Base: j.Base.Ref, Head: Head{Branch: j.Head.Ref}, SHA: j.Head.SHA, BaseSHA: j.Base.SHA,
	}
	pr.Updated, _ = time.Parse(time.RFC3339, j.UpdatedAt) // zero otherwise
	for _, l := range j.Labels {
		pr.Labels = append(pr.Labels, l.Name)
	}
	switch {
	case j.Merged || j.MergedAt != "":
		pr.State = Merged
	case j.State == "closed":
		pr.State = Closed
	}
	if j.Head.Repo != nil {
		pr.Head = Own(p, Head{Repo: ParsePath(j.Head.Repo.FullName), Branch: j.Head.Ref})
	}
	if j.Mergeable != nil && j.MergeState != "unknown" {
		pr.Mergeable = CannotMerge
		pr.Conflict = !*j.Mergeable && !j.Draft && pr.State == Open
		if *j.Mergeable && j.MergeState != "blocked" && j.MergeState != "draft" && j.MergeState != "behind" {
			pr.Mergeable = CanMerge
		}
		pr.Ruled = pr.State == Open && j.MergeState == "blocked"
		if pr.State == Open && j.MergeState == "behind" {
			pr.Blocked = Behind(pr.Base)
		}
	}
	for _, u := range j.Assignees {
		pr.Assignees = append(pr.Assignees, u.Login)
	}
	return pr, nil
}

func (j repoJSON) repository() Repository {
	r := Repository{
		Path: ParsePath(j.FullName), CloneURL: j.CloneURL, DefaultBranch: j.DefaultBranch, Description: j.Description,
		Language: j.Language, Topics: j.Topics, Archived: j.Archived, Fork: j.Fork, PushUnknown: j.Permissions == nil,
		Empty: j.Empty, small: j.Size != nil && *j.Size == 0,
	}
	if j.Permissions != nil {
		r.Push = j.Permissions.Push
	}
	if j.Parent != nil {
		r.Parent = ParsePath(j.Parent.FullName)
	}
	return r
}

func (j commentJSON) comment() Comment {
	return Comment{URL: j.URL, ID: j.ID, Author: j.User.Login, Bot: j.User.Type == "Bot", Text: j.Body}
}

// inRepo returns the path of a repository's resource.
func inRepo(p Path, rest ...string) []string {
	return append([]string{"repos", p.Owner, p.Name}, rest...)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func findWhat(p Path, h Head) string       { return OfHead("find", p, h).What }
func createWhat(p Path, h Head) string     { return OfHead("create", p, h).What }
func getWhat(p Path, n int64) string       { return OfPull("get", p, n).What }
func changeWhat(p Path, n int64) string    { return OfPull("update", p, n).What }
func mergeWhat(p Path, n int64) string     { return OfPull("merge", p, n).What }
func commentWhat(p Path, t Thread) string  { return OfThread(p, t).What }
func checksWhat(p Path, sha string) string { return OfCommit(p, sha).What }

// fields returns the fields of a change that GitHub and Gitea name alike.
func fields(c Change) map[string]any {
	m := map[string]any{}
	for name, value := range map[string]*string{"title": c.Title, "body": c.Body, "base": c.Base} {
		if value != nil {
			m[name] = *value
		}
	}
	if c.State != "" {
		m["state"] = c.State
	}
	return m
}

// list returns an object with a list, nil for an empty one.
func list[T any](key string, values []T) map[string]any {
	if len(values) == 0 {
		return nil
	}
	return map[string]any{key: values}
}

func joined(a, b map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

func getRepo(ctx context.Context, s *Sender, p Path) (Repository, error) {
	var j repoJSON
	_, err := s.send(ctx, call{what: "get repository " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p), out: &j})
	return j.repository(), err
}

func getLogin(ctx context.Context, s *Sender, owner string) (string, error) {
	var j userJSON
	_, err := s.send(ctx, call{what: "get the token's user", owner: owner, method: http.MethodGet, path: []string{"user"}, out: &j})
	return j.Login, err
}

// eachPull passes the pull requests of a list to f, until that returns false.
func eachPull(ctx context.Context, s *Sender, c call, p Path, f func(PullRequest) bool) error {
	var invalid error
	err := pages(ctx, s, c, func(page []pullJSON, _ http.Header) bool {
		for _, j := range page {
			pr, err := j.pullRequest(p)
			if err != nil {
				invalid = fmt.Errorf("%s: %w", c.what, err)
				return false
			}
			if !f(pr) {
				return false
			}
		}
		return true
	})
	return errors.Join(err, invalid)
}

// sendPull sends a request whose response is a pull request, the zero one if the request
// landed without a response.
func sendPull(ctx context.Context, s *Sender, p Path, c call) (PullRequest, error) {
	var j pullJSON
	c.owner, c.out = p.Owner, &j
	if _, err := s.send(ctx, c); err != nil || j.Number == 0 && c.landed != nil {
		return PullRequest{}, err
	}
	pr, err := j.pullRequest(p)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.what, err)
	}
	return pr, err
}

func getComments(ctx context.Context, s *Sender, p Path, t Thread, query url.Values) ([]Comment, error) {
	var all []Comment
	c := call{what: commentWhat(p, t), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "issues", decimal(t.Number), "comments"), query: query}
	err := pages(ctx, s, c, func(page []commentJSON, _ http.Header) bool {
		for _, j := range page {
			all = append(all, j.comment())
		}
		return true
	})
	return all, err
}

func sendComment(ctx context.Context, s *Sender, p Path, t Thread, id int64, body string, landed func(context.Context) (bool, error)) (Comment, error) {
	c := call{what: commentWhat(p, t), owner: p.Owner, method: http.MethodPost, path: inRepo(p, "issues", decimal(t.Number), "comments"), body: map[string]any{"body": body}, landed: landed}
	if id != 0 {
		c.method, c.path, c.landed = http.MethodPatch, inRepo(p, "issues", "comments", decimal(id)), nil
	}
	var j commentJSON
	c.out = &j
	_, err := s.send(ctx, c)
	return j.comment(), err
}

func sendFork(ctx context.Context, s *Sender, p Path, into string, own bool, landed func(context.Context) (bool, error)) error {
	body := map[string]any{}
	if !own {
		body["organization"] = into
	}
	_, err := s.send(ctx, call{what: fmt.Sprintf("fork %s into %s", p, into), owner: p.Owner, method: http.MethodPost, path: inRepo(p, "forks"), body: body, landed: landed})
	return err
}
