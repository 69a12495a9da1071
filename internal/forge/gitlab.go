package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// gitlab is the API of GitLab.
type gitlab struct{ *Sender }

// NewGitLab returns the API of GitLab.
func NewGitLab(s *Sender) API { return &gitlab{s} }

// perPage is the maximum page size.
const perPage = "100"

const (
	gitlabDraft     = "Draft: "
	gitlabDeveloper = 30 // the access level from which on a member can push
)

type gitlabUser struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

type gitlabMerge struct {
	IID           int64        `json:"iid"`
	URL           string       `json:"web_url"`
	State         string       `json:"state"`
	Title         string       `json:"title"`
	Description   string       `json:"description"`
	Draft         bool         `json:"draft"`
	SourceBranch  string       `json:"source_branch"`
	TargetBranch  string       `json:"target_branch"`
	SourceProject int64        `json:"source_project_id"` // null if a fork was deleted
	TargetProject int64        `json:"target_project_id"`
	SHA           string       `json:"sha"`
	Status        string       `json:"detailed_merge_status"`
	Conflicts     bool         `json:"has_conflicts"`
	Assignees     []gitlabUser `json:"assignees"`
	Reviewers     []gitlabUser `json:"reviewers"`
	Labels        []string     `json:"labels"`
	UpdatedAt     string       `json:"updated_at"`
	Refs          struct {
		Base string `json:"base_sha"`
	} `json:"diff_refs"` // not in lists
	Pipeline *struct {
		Status string `json:"status"`
	} `json:"head_pipeline"` // not in lists
}

type gitlabAccess struct {
	Level int `json:"access_level"`
}

type gitlabProject struct {
	ID            int64    `json:"id"`
	Path          string   `json:"path_with_namespace"`
	CloneURL      string   `json:"http_url_to_repo"`
	DefaultBranch string   `json:"default_branch"`
	Description   string   `json:"description"`
	Topics        []string `json:"topics"`
	Archived      bool     `json:"archived"`
	Empty         bool     `json:"empty_repo"`
	Parent        *struct {
		Path string `json:"path_with_namespace"`
	} `json:"forked_from_project"`
	Permissions *struct {
		Project *gitlabAccess `json:"project_access"`
		Group   *gitlabAccess `json:"group_access"`
	} `json:"permissions"`
}

type gitlabNote struct {
	ID     int64      `json:"id"`
	Body   string     `json:"body"`
	Author gitlabUser `json:"author"`
}

// inProject returns the path of a project's resource.
func inProject(p Path, rest ...string) []string {
	return append([]string{"projects", p.String()}, rest...)
}

func (j gitlabProject) repository() Repository {
	r := Repository{
		Path: ParsePath(j.Path), CloneURL: j.CloneURL, DefaultBranch: j.DefaultBranch, Description: j.Description,
		Topics: j.Topics, Archived: j.Archived, Empty: j.Empty, Fork: j.Parent != nil, PushUnknown: j.Permissions == nil, ID: j.ID,
	}
	if j.Parent != nil {
		r.Parent = ParsePath(j.Parent.Path)
	}
	if j.Permissions != nil {
		for _, a := range []*gitlabAccess{j.Permissions.Project, j.Permissions.Group} {
			r.Push = r.Push || a != nil && a.Level >= gitlabDeveloper
		}
	}
	return r
}

// pullRequest converts a merge request. Its head's repository is not known; fork is a
// name for one that is another project.
func (j gitlabMerge) pullRequest(fork Path) (PullRequest, error) {
	if err := CheckPull(j.IID, j.URL); err != nil {
		return PullRequest{}, err
	}
	pr := PullRequest{
		Number: j.IID, URL: j.URL, State: Open, Title: j.Title, Body: j.Description, Draft: j.Draft,
		Base: j.TargetBranch, Head: Head{Branch: j.SourceBranch}, SHA: j.SHA, Mergeable: CannotMerge, BaseSHA: j.Refs.Base, Labels: j.Labels,
	}
	pr.Updated, _ = time.Parse(time.RFC3339, j.UpdatedAt) // zero otherwise
	if j.SourceProject != j.TargetProject {
		pr.Head.Repo = fork
	}
	switch j.State {
	case "merged":
		pr.State = Merged
	case "closed":
		pr.State = Closed
	}
	switch j.Status {
	case "mergeable":
		pr.Mergeable = CanMerge
	case "", "checking", "unchecked", "preparing", "approvals_syncing":
		pr.Mergeable = MergeUnknown
	}
	if pr.State == Open {
		pr.Blocked = gitlabBlocked(j.Status, pr.Base)
	}
	pr.Conflict = pr.Mergeable == CannotMerge && (j.Conflicts || j.Status == "conflict")
	for _, u := range j.Assignees {
		pr.AssigneeIDs = append(pr.AssigneeIDs, u.ID)
	}
	for _, u := range j.Reviewers {
		pr.ReviewerIDs = append(pr.ReviewerIDs, u.ID)
	}
	if j.Pipeline != nil {
		pr.Checks = pipeline(j.Pipeline.Status)
	}
	return plain(pr, gitlabDraft), nil
}

// gitlabBlocked returns why a merge request is blocked, by its detailed status; "" for another status.
func gitlabBlocked(status, base string) string {
	switch status {
	case "not_approved":
		return NeedsReview
	case "requested_changes":
		return NeedsChanges
	case "need_rebase":
		return Behind(base)
	}
	return map[string]string{
		"discussions_not_resolved":       "it has threads that are not resolved: resolve them, and merge it again",
		"ci_must_pass":                   "its pipeline must pass: merge it again when it has",
		"ci_still_running":               "its pipeline has not completed: merge it again when it has",
		"status_checks_must_pass":        "its external status checks must pass: merge it again when they have",
		"merge_request_blocked":          "it depends on another merge request: merge that one first",
		"jira_association_missing":       "its title or description must name a Jira issue: set publish.title or publish.body",
		"title_regex":                    "its title is not as the project requires it: set publish.title",
		"locked_paths":                   "it changes files that are locked: have them unlocked, and merge it again",
		"locked_lfs_files":               "it changes files that are locked: have them unlocked, and merge it again",
		"security_policy_violations":     "a security policy of the project blocks it: have it approved as the policy requires",
		"security_policy_pipeline_check": "a security policy of the project blocks it: have it approved as the policy requires",
		"policies_denied":                "a security policy of the project blocks it: have it approved as the policy requires",
		"merge_time":                     "it is not to be merged before a time that it states",
	}[status]
}

func pipeline(status string) Checks {
	switch status {
	case "success", "skipped":
		return ChecksPassed
	case "failed", "canceled":
		return ChecksFailed
	}
	return ChecksPending
}

func (g *gitlab) Repo(ctx context.Context, p Path) (Repository, error) {
	var j gitlabProject
	_, err := g.send(ctx, call{what: "get repository " + p.String(), owner: p.Owner, method: http.MethodGet, path: inProject(p), out: &j})
	return j.repository(), err
}

func (g *gitlab) Self(ctx context.Context, owner string) (string, error) {
	var j gitlabUser
	_, err := g.send(ctx, call{what: "get the token's user", owner: owner, method: http.MethodGet, path: []string{"user"}, out: &j})
	return j.Username, err
}

func (g *gitlab) Pulls(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error) {
	states := "all"
	if state == Open {
		states = "opened"
	}
	var source int64
	if h.Repo != (Path{}) {
		fork, err := g.Repo(ctx, h.Repo)
		if err != nil {
			return nil, err
		}
		source = fork.ID
	}
	var found []PullRequest
	var invalid error
	c := call{
		what: findWhat(p, h), owner: p.Owner, method: http.MethodGet, path: inProject(p, "merge_requests"),
		query: url.Values{"source_branch": {h.Branch}, "state": {states}, "per_page": {perPage}},
	}
	err := pages(ctx, g.Sender, c, func(page []gitlabMerge, _ http.Header) bool {
		for _, j := range page {
			pr, err := j.pullRequest(h.Repo)
			invalid = errors.Join(invalid, err)
			wanted := j.SourceProject == source || source == 0 && j.SourceProject == j.TargetProject
			if err == nil && j.SourceBranch == h.Branch && wanted {
				found = append(found, pr)
			}
		}
		return invalid == nil
	})
	return found, errors.Join(err, invalid)
}

func (g *gitlab) Create(ctx context.Context, p Path, n New, landed func(context.Context) (bool, error)) (PullRequest, error) {
	title, _ := titled(PullRequest{Title: n.Title, Draft: n.Draft}, Change{}, gitlabDraft)
	body := map[string]any{"title": title, "description": n.Body, "target_branch": n.Base, "source_branch": n.Head.Branch}
	source := p
	if n.Head.Repo != (Path{}) { // is created in the fork, for the other project
		target, err := g.Repo(ctx, p)
		if err != nil {
			return PullRequest{}, err
		}
		source, body["target_project_id"] = n.Head.Repo, target.ID
	}
	return g.sendMerge(ctx, n.Head.Repo, call{what: createWhat(p, n.Head), owner: p.Owner, method: http.MethodPost, path: inProject(source, "merge_requests"), body: body, landed: landed})
}

// sendMerge sends a request whose response is a merge request, the zero one if the request
// landed without a response.
func (g *gitlab) sendMerge(ctx context.Context, fork Path, c call) (PullRequest, error) {
	var j gitlabMerge
	c.out = &j
	if _, err := g.send(ctx, c); err != nil || j.IID == 0 && c.landed != nil {
		return PullRequest{}, err
	}
	pr, err := j.pullRequest(fork)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.what, err)
	}
	return pr, err
}

func (g *gitlab) Change(ctx context.Context, p Path, pr PullRequest, c Change) error {
	body := map[string]any{}
	if title, changed := titled(pr, c, gitlabDraft); changed {
		body["title"] = title
	}
	if c.Body != nil {
		body["description"] = *c.Body
	}
	if c.Base != nil {
		body["target_branch"] = *c.Base
	}
	if c.State == Closed {
		body["state_event"] = "close"
	}
	if len(c.Labels) > 0 {
		body["add_labels"] = strings.Join(c.Labels, ",")
	}
	for _, list := range []struct {
		key   string
		names []string
		ids   []int64
	}{{"assignee_ids", c.Assignees, pr.AssigneeIDs}, {"reviewer_ids", c.Reviewers, pr.ReviewerIDs}} {
		if len(list.names) == 0 {
			continue
		}
		added, err := g.users(ctx, p, list.names)
		if err != nil {
			return fmt.Errorf("%s: %w", changeWhat(p, pr.Number), err)
		}
		body[list.key] = union(list.ids, added)
	}
	if len(body) == 0 {
		return nil
	}
	_, err := g.send(ctx, call{what: changeWhat(p, pr.Number), owner: p.Owner, method: http.MethodPut, path: inProject(p, "merge_requests", decimal(pr.Number)), body: body})
	return err
}

// users returns the ids of users.
func (g *gitlab) users(ctx context.Context, p Path, names []string) ([]int64, error) {
	var ids []int64
	for _, name := range names {
		var found []gitlabUser
		_, err := g.send(ctx, call{what: "find user " + name, owner: p.Owner, method: http.MethodGet, path: []string{"users"}, query: url.Values{"username": {name}}, out: &found})
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("user %s: %w", name, ErrNotFound)
		}
		ids = append(ids, found[0].ID)
	}
	return ids, nil
}

func (g *gitlab) Pull(ctx context.Context, p Path, number int64) (PullRequest, error) {
	return g.sendMerge(ctx, Path{}, call{what: getWhat(p, number), owner: p.Owner, method: http.MethodGet, path: inProject(p, "merge_requests", decimal(number))})
}

// Checks returns a pull request as it is: those of the pipeline are in the merge request.
func (g *gitlab) Checks(_ context.Context, _ Path, pr PullRequest) (PullRequest, error) {
	return pr, nil
}

func (g *gitlab) Merge(ctx context.Context, p Path, pr PullRequest, method MergeMethod, landed func(context.Context) (bool, error)) error {
	_, err := g.send(ctx, call{
		what: mergeWhat(p, pr.Number), owner: p.Owner, method: http.MethodPut, path: inProject(p, "merge_requests", decimal(pr.Number), "merge"),
		body: map[string]any{"sha": pr.SHA, "squash": method == Squash}, landed: landed,
	})
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized { // not of the token, which just read the merge request
		refused.Message += "; use the token of a user who may merge into " + pr.Base
	}
	return err
}

// notes returns the path of the comments on a thread.
func notes(p Path, t Thread, rest ...string) []string {
	kind := "merge_requests"
	if t.Issue {
		kind = "issues"
	}
	return append(inProject(p, kind, decimal(t.Number), "notes"), rest...)
}

func (g *gitlab) Comments(ctx context.Context, p Path, t Thread) ([]Comment, error) {
	var all []Comment
	c := call{what: commentWhat(p, t), owner: p.Owner, method: http.MethodGet, path: notes(p, t), query: url.Values{"sort": {"asc"}, "per_page": {perPage}}}
	err := pages(ctx, g.Sender, c, func(page []gitlabNote, _ http.Header) bool {
		for _, j := range page {
			all = append(all, g.note(p, t, j))
		}
		return true
	})
	return all, err
}

// note converts a comment. GitLab does not return its URL.
func (g *gitlab) note(p Path, t Thread, j gitlabNote) Comment {
	kind := "merge_requests"
	if t.Issue {
		kind = "issues"
	}
	address := fmt.Sprintf("%s/%s/-/%s/%d#note_%d", strings.TrimSuffix(g.Server, "/"), p, kind, t.Number, j.ID)
	return Comment{URL: address, ID: j.ID, Author: j.Author.Username, Text: j.Body}
}

func (g *gitlab) Comment(ctx context.Context, p Path, t Thread, id int64, body string, landed func(context.Context) (bool, error)) (Comment, error) {
	c := call{what: commentWhat(p, t), owner: p.Owner, method: http.MethodPost, path: notes(p, t), body: map[string]any{"body": body}, landed: landed}
	if id != 0 {
		c.method, c.path, c.landed = http.MethodPut, notes(p, t, decimal(id)), nil
	}
	var j gitlabNote
	c.out = &j
	_, err := g.send(ctx, c)
	return g.note(p, t, j), err
}

// language returns the language with the largest share.
func (g *gitlab) language(ctx context.Context, p Path) (string, error) {
	var shares map[string]float64
	_, err := g.send(ctx, call{what: "get languages of " + p.String(), owner: p.Owner, method: http.MethodGet, path: inProject(p, "languages"), out: &shares})
	most := ""
	for name, share := range shares {
		if most == "" || share > shares[most] || share == shares[most] && name < most {
			most = name
		}
	}
	return most, err
}

func (g *gitlab) Fork(ctx context.Context, p Path, into string, own bool, landed func(context.Context) (bool, error)) error {
	body := map[string]any{}
	if !own {
		body["namespace_path"] = into
	}
	_, err := g.send(ctx, call{what: fmt.Sprintf("fork %s into %s", p, into), owner: p.Owner, method: http.MethodPost, path: inProject(p, "fork"), body: body, landed: landed})
	return err
}
