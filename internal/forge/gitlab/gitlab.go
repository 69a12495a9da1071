// Package gitlab is the API of GitLab, by its client-go. A merge request is a pull request here, and a group is an owner.
// It neither paces nor repeats requests, and sends no token itself: that is the task of the [forge.Sender].
//
// Some lines are not client-go's, because it loses something there; the tests show what. The Sender follows the pages of
// lists, because client-go leaves them to its user; and the end of a log is read without the rest.
package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// API implements [forge.API].
type API struct {
	*forge.Sender
	gl *gl.Client
}

// unlimited is a limiter that does not wait: the sender does.
type unlimited struct{}

// Wait implements gitlab.RateLimiter.
func (unlimited) Wait(context.Context) error { return nil }

// New returns the API of a server. It sends no request.
func New(s *forge.Sender) (*API, error) {
	client, err := gl.NewAuthSourceClient(
		gl.Unauthenticated{}, gl.WithBaseURL(s.Base().String()), gl.WithHTTPClient(&http.Client{Transport: s}),
		gl.WithoutRetries(), gl.WithCustomLimiter(unlimited{}), gl.WithUserAgent(s.UserAgent),
	)
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", s.Base().Host, err)
	}
	return &API{s, client}, nil
}

const draft = "Draft: "

// largest is the first page of a list, with the maximum size.
func largest() gl.ListOptions { return gl.ListOptions{PerPage: 100} }

// Repo implements [forge.API].
func (a *API) Repo(ctx context.Context, p forge.Path) (forge.Repository, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get repository " + p.String(), Repo: p}, func(ctx context.Context) (*gl.Project, *gl.Response, error) {
		return a.gl.Projects.GetProject(p.String(), nil, gl.WithContext(ctx))
	})
	return repository(j), err
}

func repository(j *gl.Project) forge.Repository {
	if j == nil {
		return forge.Repository{PushUnknown: true}
	}
	r := forge.Repository{
		Path: forge.ParsePath(j.PathWithNamespace), CloneURL: j.HTTPURLToRepo, DefaultBranch: j.DefaultBranch, Description: j.Description,
		Topics: j.Topics, Archived: j.Archived, Empty: j.EmptyRepo, Fork: j.ForkedFromProject != nil, PushUnknown: j.Permissions == nil, ID: j.ID,
	}
	if j.ForkedFromProject != nil {
		r.Parent = forge.ParsePath(j.ForkedFromProject.PathWithNamespace)
	}
	if of := j.Permissions; of != nil {
		r.Push = of.ProjectAccess != nil && of.ProjectAccess.AccessLevel >= gl.DeveloperPermissions || of.GroupAccess != nil && of.GroupAccess.AccessLevel >= gl.DeveloperPermissions
	}
	return r
}

// Self implements [forge.API].
func (a *API) Self(ctx context.Context, owner string) (string, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get the token's user", Owner: owner}, func(ctx context.Context) (*gl.User, *gl.Response, error) {
		return a.gl.Users.CurrentUser(gl.WithContext(ctx))
	})
	if err != nil || j == nil {
		return "", err
	}
	return j.Username, nil
}

// Commit implements [forge.API]. GitLab signs no commits of its API.
func (a *API) Commit(context.Context, forge.Path, forge.NewCommit) (string, error) {
	return "", errors.ErrUnsupported
}

// Workflows implements [forge.API]. GitLab requires no permission for files of a workflow.
func (a *API) Workflows(context.Context, forge.Path) (missing string, known bool, err error) {
	return "", true, nil
}

// App implements [forge.API]. Each token has a user.
func (a *API) App(context.Context, string) (string, error) { return "", forge.ErrNotFound }

// Pulls implements [forge.API].
func (a *API) Pulls(ctx context.Context, p forge.Path, h forge.Head, state forge.State) ([]forge.PullRequest, error) {
	o := &gl.ListProjectMergeRequestsOptions{SourceBranch: &h.Branch, State: new("all"), ListOptions: largest()}
	if state == forge.Open {
		o.State = new("opened")
	}
	var source int64
	if h.Repo != (forge.Path{}) {
		fork, err := a.Repo(ctx, h.Repo)
		if err != nil {
			return nil, err
		}
		source = fork.ID
	}
	var found []forge.PullRequest
	err := forge.Each(ctx, a.Sender, forge.OfHead("find", p, h), func(ctx context.Context) ([]*gl.BasicMergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.ListProjectMergeRequests(p.String(), o, gl.WithContext(ctx))
	}, func(j *gl.BasicMergeRequest) error {
		pr, err := pullRequest(j, h.Repo)
		if err == nil && j.SourceBranch == h.Branch && j.SourceProjectID == cmp.Or(source, j.TargetProjectID) {
			found = append(found, pr)
		}
		return err
	})
	return found, err
}

// pullRequest converts a merge request. It has only the number of its head's project: fork is the path of one that is another
// project, if that is known.
func pullRequest(j *gl.BasicMergeRequest, fork forge.Path) (forge.PullRequest, error) {
	if j == nil {
		j = &gl.BasicMergeRequest{}
	}
	if err := forge.CheckPull(j.IID, j.WebURL); err != nil {
		return forge.PullRequest{}, err
	}
	pr := forge.PullRequest{
		Number: j.IID, URL: j.WebURL, State: forge.Open, Title: j.Title, Body: j.Description, Draft: j.Draft,
		Base: j.TargetBranch, Head: forge.Head{Branch: j.SourceBranch}, SHA: j.SHA, Mergeable: forge.CannotMerge, Labels: j.Labels,
	}
	if j.UpdatedAt != nil {
		pr.Updated = *j.UpdatedAt
	}
	switch {
	case j.SourceProjectID == j.TargetProjectID:
	case fork != forge.Path{}:
		pr.Head.Repo = fork
	case j.SourceProjectID == 0: // was deleted
		pr.Head.Repo = forge.Unknown()
	default:
		pr.Head.Repo = forge.Path{Owner: "project", Name: strconv.FormatInt(j.SourceProjectID, 10)}
	}
	switch j.State {
	case "merged":
		pr.State = forge.Merged
	case "closed":
		pr.State = forge.Closed
	}
	switch j.DetailedMergeStatus {
	case "mergeable":
		pr.Mergeable = forge.CanMerge
	case "", "checking", "unchecked", "preparing", "approvals_syncing":
		pr.Mergeable = forge.MergeUnknown
	}
	if pr.State == forge.Open {
		pr.Blocked = blocked(j.DetailedMergeStatus, pr.Base)
	}
	pr.Conflict = pr.Mergeable == forge.CannotMerge && (j.HasConflicts || j.DetailedMergeStatus == "conflict")
	pr.AssigneeIDs, pr.ReviewerIDs = ids(j.Assignees), ids(j.Reviewers)
	return forge.Plain(pr, draft), nil
}

// ids returns the ids of users.
func ids(users []*gl.BasicUser) (all []int64) {
	for _, u := range users {
		if u != nil {
			all = append(all, u.ID)
		}
	}
	return all
}

// blocked returns why a merge request is blocked, by its detailed status; "" for another status.
func blocked(status, base string) string {
	switch status {
	case "not_approved":
		return forge.NeedsReview
	case "requested_changes":
		return forge.NeedsChanges
	case "need_rebase":
		return forge.Behind(base)
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

// pull sends a request whose response is a merge request, the zero one if the request was applied without a response.
func (a *API) pull(ctx context.Context, c forge.Call, fork forge.Path, send func(context.Context) (*gl.MergeRequest, *gl.Response, error)) (forge.PullRequest, error) {
	j, err := forge.One(ctx, a.Sender, c, send)
	if err != nil || j == nil && c.Applied != nil {
		return forge.PullRequest{}, err
	}
	if j == nil {
		j = &gl.MergeRequest{}
	}
	pr, err := pullRequest(&j.BasicMergeRequest, fork)
	if err != nil {
		return pr, fmt.Errorf("%s: %w", c.What, err)
	}
	pr.BaseSHA, pr.Start = j.DiffRefs.BaseSha, j.DiffRefs.StartSha
	if j.HeadPipeline != nil {
		pr.Checks = status(j.HeadPipeline.Status, false)
	}
	return pr, nil
}

// Create implements [forge.API].
func (a *API) Create(ctx context.Context, p forge.Path, n forge.New, applied func(context.Context) (bool, error)) (forge.PullRequest, error) {
	title, _ := forge.Titled(forge.PullRequest{Title: n.Title, Draft: n.Draft}, forge.Change{}, draft)
	o := &gl.CreateMergeRequestOptions{Title: &title, Description: &n.Body, TargetBranch: &n.Base, SourceBranch: &n.Head.Branch}
	source := p
	if n.Head.Repo != (forge.Path{}) { // is created in the fork, for the other project
		target, err := a.Repo(ctx, p)
		if err != nil {
			return forge.PullRequest{}, err
		}
		source, o.TargetProjectID = n.Head.Repo, &target.ID
	}
	return a.pull(ctx, forge.OfHead("create", p, n.Head).IfApplied(applied), n.Head.Repo, func(ctx context.Context) (*gl.MergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.CreateMergeRequest(source.String(), o, gl.WithContext(ctx))
	})
}

// Pull implements [forge.API].
func (a *API) Pull(ctx context.Context, p forge.Path, number int64) (forge.PullRequest, error) {
	return a.pull(ctx, forge.OfPull("get", p, number), forge.Path{}, func(ctx context.Context) (*gl.MergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.GetMergeRequest(p.String(), number, nil, gl.WithContext(ctx))
	})
}

// Change implements [forge.API].
func (a *API) Change(ctx context.Context, p forge.Path, pr forge.PullRequest, c forge.Change) error {
	call := forge.OfPull("update", p, pr.Number)
	o := gl.UpdateMergeRequestOptions{Description: c.Body, TargetBranch: c.Base}
	if title, changed := forge.Titled(pr, c, draft); changed {
		o.Title = &title
	}
	if c.State == forge.Closed {
		o.StateEvent = new("close")
	}
	if len(c.Labels) > 0 {
		o.AddLabels = new(gl.LabelOptions(c.Labels))
	}
	for _, list := range []struct {
		to    **[]int64
		names []string
		ids   []int64
	}{{&o.AssigneeIDs, c.Assignees, pr.AssigneeIDs}, {&o.ReviewerIDs, c.Reviewers, pr.ReviewerIDs}} {
		if len(list.names) == 0 {
			continue
		}
		added, err := a.users(ctx, p, list.names)
		if err != nil {
			return fmt.Errorf("%s: %w", call.What, err)
		}
		*list.to = new(forge.Union(list.ids, added))
	}
	if o == (gl.UpdateMergeRequestOptions{}) {
		return nil
	}
	_, err := forge.One(ctx, a.Sender, call, func(ctx context.Context) (*gl.MergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.UpdateMergeRequest(p.String(), pr.Number, &o, gl.WithContext(ctx))
	})
	return err
}

// users returns the ids of users.
func (a *API) users(ctx context.Context, p forge.Path, names []string) ([]int64, error) {
	var ids []int64
	for _, name := range names {
		found, err := forge.One(ctx, a.Sender, forge.Call{What: "find user " + name, Repo: p}, func(ctx context.Context) ([]*gl.User, *gl.Response, error) {
			return a.gl.Users.ListUsers(&gl.ListUsersOptions{Username: &name}, gl.WithContext(ctx))
		})
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("user %s: %w", name, forge.ErrNotFound)
		}
		ids = append(ids, found[0].ID)
	}
	return ids, nil
}

// Merge implements [forge.API].
func (a *API) Merge(ctx context.Context, p forge.Path, pr forge.PullRequest, method forge.MergeMethod, applied func(context.Context) (bool, error)) error {
	_, err := forge.One(ctx, a.Sender, forge.OfPull("merge", p, pr.Number).IfApplied(applied), func(ctx context.Context) (*gl.MergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.AcceptMergeRequest(p.String(), pr.Number, &gl.AcceptMergeRequestOptions{SHA: &pr.SHA, Squash: new(method == forge.Squash)}, gl.WithContext(ctx))
	})
	var refused *forge.Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized { // not of the token, which just read the merge request
		refused.Message += "; use the token of a user who may merge into " + pr.Base
	}
	return err
}

// Fork implements [forge.API].
func (a *API) Fork(ctx context.Context, p forge.Path, into string, own bool, applied func(context.Context) (bool, error)) error {
	o := &gl.ForkProjectOptions{}
	if !own {
		o.NamespacePath = &into
	}
	_, err := forge.One(ctx, a.Sender, forge.Call{What: fmt.Sprintf("fork %s into %s", p, into), Repo: p, Applied: applied}, func(ctx context.Context) (*gl.Project, *gl.Response, error) {
		return a.gl.Projects.ForkProject(p.String(), o, gl.WithContext(ctx))
	})
	return err
}
