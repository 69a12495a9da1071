// Package github is the API of GitHub: its REST API by go-github, and its GraphQL API for what only that has.
// It neither paces nor repeats requests, and sends no token itself: that is the task of the [forge.Sender].
//
// Some lines are not go-github's, because it loses something there; the tests show what. The Sender follows
// the pages of lists, because go-github knows only those with numbers; it checks names, which go-github does not escape;
// labels are added by an object, as GitHub documents it; and the end of a log is read without the rest.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// API implements [forge.API].
type API struct {
	*forge.Sender
	gh *gh.Client
}

// New returns the API of a server. It sends no request.
func New(s *forge.Sender) (*API, error) {
	base := s.Base().String() + "/"
	client, err := gh.NewClient(gh.WithTransport(s), gh.WithURLs(&base, &base), gh.WithUserAgent(s.UserAgent), gh.WithDisableRateLimitCheck())
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", s.Base().Host, err)
	}
	return &API{s, client}, nil
}

// largest is the first page of a list, with the maximum size.
func largest() gh.ListOptions { return gh.ListOptions{PerPage: 100} }

// Repo implements [forge.API].
func (a *API) Repo(ctx context.Context, p forge.Path) (forge.Repository, error) {
	r, err := forge.One(ctx, a.Sender, forge.Call{What: "get repository " + p.String(), Repo: p}, func(ctx context.Context) (*gh.Repository, *gh.Response, error) {
		return a.gh.Repositories.Get(ctx, p.Owner, p.Name)
	})
	return repository(r), err
}

func repository(r *gh.Repository) forge.Repository {
	found := forge.Repository{
		Path: forge.ParsePath(r.GetFullName()), CloneURL: r.GetCloneURL(), DefaultBranch: r.GetDefaultBranch(), Description: r.GetDescription(),
		Language: r.GetLanguage(), Archived: r.GetArchived(), Fork: r.GetFork(), PushUnknown: r.GetPermissions() == nil, Push: r.GetPermissions().GetPush(),
	}
	if r != nil {
		found.Topics = r.Topics
	}
	if r.GetParent() != nil {
		found.Parent = forge.ParsePath(r.GetParent().GetFullName())
	}
	return found
}

// Self implements [forge.API].
func (a *API) Self(ctx context.Context, owner string) (string, error) {
	user, err := forge.One(ctx, a.Sender, forge.Call{What: "get the token's user", Owner: owner}, func(ctx context.Context) (*gh.User, *gh.Response, error) {
		return a.gh.Users.Get(ctx, "")
	})
	return user.GetLogin(), err
}

// Pulls implements [forge.API].
func (a *API) Pulls(ctx context.Context, p forge.Path, h forge.Head, state forge.State) ([]forge.PullRequest, error) {
	of := p
	if h.Repo != (forge.Path{}) {
		of = h.Repo
	}
	o := &gh.PullRequestListOptions{Head: of.Owner + ":" + h.Branch, State: cmp.Or(string(state), "all"), ListOptions: largest()}
	var found []forge.PullRequest
	err := forge.Each(ctx, a.Sender, forge.OfHead("find", p, h), func(ctx context.Context) ([]*gh.PullRequest, *gh.Response, error) {
		return a.gh.PullRequests.List(ctx, p.Owner, p.Name, o)
	}, func(j *gh.PullRequest) error {
		pr, err := pullRequest(p, j)
		if err == nil && pr.Head == h { // an owner can have several forks
			found = append(found, pr)
		}
		return err
	})
	return found, err
}

// pullRequest converts a pull request of the repository p.
func pullRequest(p forge.Path, j *gh.PullRequest) (forge.PullRequest, error) {
	if err := forge.CheckPull(int64(j.GetNumber()), j.GetHTMLURL()); err != nil {
		return forge.PullRequest{}, err
	}
	head, base := j.GetHead(), j.GetBase()
	pr := forge.PullRequest{
		Number: int64(j.GetNumber()), URL: j.GetHTMLURL(), State: forge.Open, Title: j.GetTitle(), Body: j.GetBody(), Draft: j.GetDraft(),
		Base: base.GetRef(), Head: forge.Head{Branch: head.GetRef()}, SHA: head.GetSHA(), BaseSHA: base.GetSHA(), Updated: j.GetUpdatedAt().Time,
	}
	for _, l := range j.Labels {
		pr.Labels = append(pr.Labels, l.GetName())
	}
	switch {
	case j.GetMerged() || !j.GetMergedAt().IsZero(): // lists lack the first one
		pr.State = forge.Merged
	case j.GetState() == "closed":
		pr.State = forge.Closed
	}
	if pr.Head.Repo = forge.Unknown(); head.GetRepo() != nil { // a fork may be deleted
		pr.Head = forge.Own(p, forge.Head{Repo: forge.ParsePath(head.GetRepo().GetFullName()), Branch: head.GetRef()})
	}
	state := j.GetMergeableState()
	if j.Mergeable == nil || state == "unknown" {
		return pr, nil
	}
	pr.Mergeable = forge.CannotMerge
	pr.Conflict = !j.GetMergeable() && !pr.Draft && pr.State == forge.Open
	if j.GetMergeable() && state != "blocked" && state != "draft" && state != "behind" {
		pr.Mergeable = forge.CanMerge
	}
	pr.Ruled = pr.State == forge.Open && state == "blocked"
	if pr.State == forge.Open && state == "behind" {
		pr.Blocked = forge.Behind(pr.Base)
	}
	return pr, nil
}

// pull sends a request whose response is a pull request, the zero one if the request was applied without a response.
func (a *API) pull(ctx context.Context, c forge.Call, send func(context.Context) (*gh.PullRequest, *gh.Response, error)) (forge.PullRequest, error) {
	j, err := forge.One(ctx, a.Sender, c, send)
	if err != nil || j == nil && c.Applied != nil {
		return forge.PullRequest{}, err
	}
	pr, err := pullRequest(c.Repo, j)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.What, err)
	}
	return pr, err
}

// Create implements [forge.API].
func (a *API) Create(ctx context.Context, p forge.Path, n forge.New, applied func(context.Context) (bool, error)) (forge.PullRequest, error) {
	pull := &gh.NewPullRequest{Title: &n.Title, Body: &n.Body, Base: &n.Base, Head: &n.Head.Branch, Draft: &n.Draft}
	switch {
	case n.Head.Repo == forge.Path{}:
	case n.Head.Repo.Owner == p.Owner:
		pull.HeadRepo = &n.Head.Repo.Name
	default:
		pull.Head = new(n.Head.Repo.Owner + ":" + n.Head.Branch)
	}
	return a.pull(ctx, forge.OfHead("create", p, n.Head).IfApplied(applied), func(ctx context.Context) (*gh.PullRequest, *gh.Response, error) {
		return a.gh.PullRequests.Create(ctx, p.Owner, p.Name, pull)
	})
}

// Pull implements [forge.API].
func (a *API) Pull(ctx context.Context, p forge.Path, number int64) (forge.PullRequest, error) {
	return a.pull(ctx, forge.OfPull("get", p, number), func(ctx context.Context) (*gh.PullRequest, *gh.Response, error) {
		return a.gh.PullRequests.Get(ctx, p.Owner, p.Name, int(number))
	})
}

// Change implements [forge.API].
func (a *API) Change(ctx context.Context, p forge.Path, pr forge.PullRequest, c forge.Change) error {
	call, number := forge.OfPull("update", p, pr.Number), int(pr.Number)
	if c.Draft != nil && *c.Draft != pr.Draft {
		return fmt.Errorf("%s: draft state: %w by GitHub's REST API", call.What, errors.ErrUnsupported)
	}
	users, teams := forge.Reviewers(c.Reviewers)
	for _, step := range []struct {
		needed bool
		send   func(context.Context) error
	}{
		{c.Title != nil || c.Body != nil || c.Base != nil || c.State != "", func(ctx context.Context) error {
			edit := &gh.PullRequest{Title: c.Title, Body: c.Body}
			if c.Base != nil {
				edit.Base = &gh.PullRequestBranch{Ref: c.Base}
			}
			if c.State != "" {
				edit.State = new(string(c.State))
			}
			_, _, err := a.gh.PullRequests.Edit(ctx, p.Owner, p.Name, number, edit)
			return err
		}},
		{len(c.Labels) > 0, func(ctx context.Context) error { return a.addLabels(ctx, p, pr.Number, c.Labels) }},
		{len(c.Assignees) > 0, func(ctx context.Context) error {
			_, _, err := a.gh.Issues.AddAssignees(ctx, p.Owner, p.Name, number, c.Assignees)
			return err
		}},
		{len(c.Reviewers) > 0, func(ctx context.Context) error {
			_, _, err := a.gh.PullRequests.RequestReviewers(ctx, p.Owner, p.Name, number, gh.ReviewersRequest{Reviewers: users, TeamReviewers: teams})
			return err
		}},
	} {
		if !step.needed {
			continue
		}
		if err := a.Do(ctx, call, step.send); err != nil {
			return err
		}
	}
	return nil
}

// Merge implements [forge.API].
func (a *API) Merge(ctx context.Context, p forge.Path, pr forge.PullRequest, method forge.MergeMethod, applied func(context.Context) (bool, error)) error {
	_, err := forge.One(ctx, a.Sender, forge.OfPull("merge", p, pr.Number).IfApplied(applied), func(ctx context.Context) (*gh.PullRequestMergeResult, *gh.Response, error) {
		return a.gh.PullRequests.Merge(ctx, p.Owner, p.Name, int(pr.Number), "", &gh.PullRequestOptions{SHA: pr.SHA, MergeMethod: string(method)})
	})
	return err
}

// Fork implements [forge.API].
func (a *API) Fork(ctx context.Context, p forge.Path, into string, own bool, applied func(context.Context) (bool, error)) error {
	o := &gh.RepositoryCreateForkOptions{}
	if !own {
		o.Organization = into
	}
	return a.Do(ctx, forge.Call{What: fmt.Sprintf("fork %s into %s", p, into), Repo: p, Applied: applied}, func(ctx context.Context) error {
		_, _, err := a.gh.Repositories.CreateFork(ctx, p.Owner, p.Name, o)
		if errors.As(err, new(*gh.AcceptedError)) { // it has started
			return nil
		}
		return err
	})
}

// Repos lists private repositories of a user, too, if that is the token's.
func (a *API) Repos(ctx context.Context, f forge.Filter) ([]forge.Repository, error) {
	const created, asc = "created", "asc"
	all, err := a.list(ctx, f, func(ctx context.Context) ([]*gh.Repository, *gh.Response, error) {
		return a.gh.Repositories.ListByOrg(ctx, f.Owner, &gh.RepositoryListByOrgOptions{Sort: created, Direction: asc, ListOptions: largest()})
	})
	if !errors.Is(err, forge.ErrNotFound) {
		return all, err
	}
	if self, err := a.Self(ctx, f.Owner); err == nil && strings.EqualFold(self, f.Owner) {
		return a.list(ctx, f, func(ctx context.Context) ([]*gh.Repository, *gh.Response, error) {
			return a.gh.Repositories.ListByAuthenticatedUser(ctx, &gh.RepositoryListByAuthenticatedUserOptions{Affiliation: "owner", Sort: created, Direction: asc, ListOptions: largest()})
		})
	}
	return a.list(ctx, f, func(ctx context.Context) ([]*gh.Repository, *gh.Response, error) {
		return a.gh.Repositories.ListByUser(ctx, f.Owner, &gh.RepositoryListByUserOptions{Sort: created, Direction: asc, ListOptions: largest()})
	})
}

// list returns the repositories of a list. It asks for the commits of those that may be empty: lists have only
// the size, in KB and computed later, which is 0 for small ones, too.
func (a *API) list(ctx context.Context, f forge.Filter, list func(context.Context) ([]*gh.Repository, *gh.Response, error)) ([]forge.Repository, error) {
	var all []forge.Repository
	var small []bool
	err := forge.Each(ctx, a.Sender, forge.Call{What: "list repositories of " + f.Owner, Owner: f.Owner}, list, func(j *gh.Repository) error {
		r := repository(j)
		all, small = append(all, r), append(small, j != nil && j.Size != nil && *j.Size == 0)
		return r.Check()
	})
	for i := range all {
		if r := &all[i]; err == nil && small[i] && f.Matches(*r) && (f.Archived || !r.Archived) && (f.Forks || !r.Fork) {
			r.Empty, err = a.empty(ctx, r.Path)
		}
	}
	return all, err
}

// empty reports whether a repository has no commit.
func (a *API) empty(ctx context.Context, p forge.Path) (bool, error) {
	_, err := forge.One(ctx, a.Sender, forge.Call{What: "list commits of " + p.String(), Repo: p}, func(ctx context.Context) ([]*gh.RepositoryCommit, *gh.Response, error) {
		return a.gh.Repositories.ListCommits(ctx, p.Owner, p.Name, &gh.CommitsListOptions{ListOptions: gh.ListOptions{PerPage: 1}})
	})
	if errors.Is(err, forge.ErrConflict) {
		return true, nil
	}
	return false, err
}

// Writes implements [forge.API].
func (a *API) Writes(ctx context.Context, p forge.Path, user string) (bool, error) {
	level, err := forge.One(ctx, a.Sender, forge.Call{What: "get the permission of " + user + " in " + p.String(), Repo: p}, func(ctx context.Context) (*gh.RepositoryPermissionLevel, *gh.Response, error) {
		return a.gh.Repositories.GetPermissionLevel(ctx, p.Owner, p.Name, url.PathEscape(user))
	})
	permission := level.GetPermission()
	return permission == "write" || permission == "admin" || permission == "owner", err
}
