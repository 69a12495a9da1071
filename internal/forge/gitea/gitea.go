// Package gitea is the API of Gitea and Forgejo, by Gitea's SDK. It neither paces nor repeats requests, and sends no
// token itself: that is the task of the [forge.Sender].
//
// Some lines are not the SDK's, because it loses something there; the tests show what. The Sender follows the pages of lists,
// because the SDK knows only those with numbers in a header; the version of the server is not asked for; labels are added by
// their names; and a merge is requested as Gitea documents it.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
)

// API implements [forge.API].
type API struct {
	*forge.Sender
	http *http.Client
}

// New returns the API of a server. It sends no request.
func New(s *forge.Sender) *API { return &API{s, &http.Client{Transport: s}} }

// within returns a client whose requests have a context.
func (a *API) within(ctx context.Context) *sdk.Client {
	server := strings.TrimSuffix(a.Base().String(), "/api/v1")
	client, _ := sdk.NewClient(server, sdk.SetGiteaVersion(""), sdk.SetHTTPClient(a.http), sdk.SetContext(ctx), sdk.SetUserAgent(a.UserAgent)) // can only fail for a version
	return client
}

// send sends a request of its own, and decodes the response into out unless that is nil.
func (a *API) send(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Base().String()+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return json.NewDecoder(res.Body).Decode(out)
}

const (
	draft  = "WIP: "
	closed = 2000 // closed pull requests that are searched

	// A merge is repeated while the server is checking whether there are conflicts, as it
	// does after each push and after each merge into the same base.
	merges    = 6
	mergeWait = 2 * time.Second
)

// largest is the first page of a list, with the default maximum size of servers.
func largest() sdk.ListOptions { return sdk.ListOptions{Page: 1, PageSize: 50} }

// Repo implements [forge.API].
func (a *API) Repo(ctx context.Context, p forge.Path) (forge.Repository, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get repository " + p.String(), Repo: p}, func(ctx context.Context) (*sdk.Repository, *sdk.Response, error) {
		return a.within(ctx).GetRepo(p.Owner, p.Name)
	})
	return repository(j), err
}

func repository(j *sdk.Repository) forge.Repository {
	if j == nil {
		return forge.Repository{PushUnknown: true}
	}
	r := forge.Repository{
		Path: forge.ParsePath(j.FullName), CloneURL: j.CloneURL, DefaultBranch: j.DefaultBranch, Description: j.Description, Language: j.Language,
		Topics: j.Topics, Archived: j.Archived, Fork: j.Fork, Empty: j.Empty, PushUnknown: j.Permissions == nil, Push: j.Permissions != nil && j.Permissions.Push,
	}
	if j.Parent != nil {
		r.Parent = forge.ParsePath(j.Parent.FullName)
	}
	return r
}

// Self implements [forge.API].
func (a *API) Self(ctx context.Context, owner string) (string, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get the token's user", Owner: owner}, func(ctx context.Context) (*sdk.User, *sdk.Response, error) {
		return a.within(ctx).GetMyUserInfo()
	})
	return login(j), err
}

func login(j *sdk.User) string {
	if j == nil {
		return ""
	}
	return j.UserName
}

// Commit implements [forge.API]. Gitea signs no commits of its API.
func (a *API) Commit(context.Context, forge.Path, forge.NewCommit) (string, error) {
	return "", errors.ErrUnsupported
}

// Workflows implements [forge.API]. Gitea requires no permission for files of a workflow.
func (a *API) Workflows(context.Context, forge.Path) (missing string, known bool, err error) {
	return "", true, nil
}

// App implements [forge.API]. Each token has a user.
func (a *API) App(context.Context, string) (string, error) { return "", forge.ErrNotFound }

// errEnough ends a list.
var errEnough = errors.New("enough")

// Pulls filters by the head itself, because the server can't.
func (a *API) Pulls(ctx context.Context, p forge.Path, h forge.Head, state forge.State) ([]forge.PullRequest, error) {
	var found []forge.PullRequest
	list := func(o sdk.ListPullRequestsOptions, most int) error {
		seen := 0
		o.ListOptions = largest()
		return forge.Each(ctx, a.Sender, forge.OfHead("find", p, h), func(ctx context.Context) ([]*sdk.PullRequest, *sdk.Response, error) {
			return a.within(ctx).ListRepoPullRequests(p.Owner, p.Name, o)
		}, func(j *sdk.PullRequest) error {
			pr, err := pullRequest(p, j)
			if err == nil && pr.Head == h {
				found = append(found, pr)
			}
			if seen++; err == nil && most > 0 && (len(found) > 0 || seen >= most) {
				return errEnough
			}
			return err
		})
	}
	err := list(sdk.ListPullRequestsOptions{State: sdk.StateOpen}, 0)
	if err != nil || len(found) > 0 || state == forge.Open {
		return found, err
	}
	if err = list(sdk.ListPullRequestsOptions{State: sdk.StateClosed, Sort: "recentupdate"}, closed); errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// pullRequest converts a pull request of the repository p.
func pullRequest(p forge.Path, j *sdk.PullRequest) (forge.PullRequest, error) {
	if j == nil {
		j = &sdk.PullRequest{}
	}
	if err := forge.CheckPull(j.Index, j.HTMLURL); err != nil {
		return forge.PullRequest{}, err
	}
	pr := forge.PullRequest{Number: j.Index, URL: j.HTMLURL, State: forge.Open, Title: j.Title, Body: j.Body, Draft: j.Draft, Mergeable: forge.CannotMerge}
	if j.Updated != nil {
		pr.Updated = *j.Updated
	}
	for _, l := range j.Labels {
		if l != nil {
			pr.Labels = append(pr.Labels, l.Name)
		}
	}
	for _, u := range j.Assignees {
		pr.Assignees = append(pr.Assignees, login(u))
	}
	if b := j.Base; b != nil {
		pr.Base, pr.BaseSHA = b.Ref, b.Sha
	}
	if h := j.Head; h != nil {
		pr.Head.Branch, pr.SHA = h.Ref, h.Sha
		if pr.Head.Repo = forge.Unknown(); h.Repository != nil { // a fork may be deleted
			pr.Head = forge.Own(p, forge.Head{Repo: forge.ParsePath(h.Repository.FullName), Branch: h.Ref})
		}
	}
	switch {
	case j.HasMerged || j.Merged != nil:
		pr.State = forge.Merged
	case j.State == sdk.StateClosed:
		pr.State = forge.Closed
	}
	pr.Conflict = !j.Mergeable && !j.Draft && pr.State == forge.Open
	if j.Mergeable {
		pr.Mergeable = forge.CanMerge
	}
	return forge.Plain(pr, draft), nil
}

// pull sends a request whose response is a pull request, the zero one if the request was applied without a response.
func (a *API) pull(ctx context.Context, c forge.Call, send func(context.Context) (*sdk.PullRequest, *sdk.Response, error)) (forge.PullRequest, error) {
	j, err := forge.One(ctx, a.Sender, c, send)
	if err != nil || c.Applied != nil && (j == nil || j.Index == 0) {
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
	o := sdk.CreatePullRequestOption{Body: n.Body, Base: n.Base, Head: n.Head.Branch}
	o.Title, _ = forge.Titled(forge.PullRequest{Title: n.Title, Draft: n.Draft}, forge.Change{}, draft)
	if n.Head.Repo != (forge.Path{}) {
		o.Head = n.Head.Repo.String() + ":" + n.Head.Branch
	}
	return a.pull(ctx, forge.OfHead("create", p, n.Head).IfApplied(applied), func(ctx context.Context) (*sdk.PullRequest, *sdk.Response, error) {
		return a.within(ctx).CreatePullRequest(p.Owner, p.Name, o)
	})
}

// Pull implements [forge.API].
func (a *API) Pull(ctx context.Context, p forge.Path, number int64) (forge.PullRequest, error) {
	pr, err := a.pull(ctx, forge.OfPull("get", p, number), func(ctx context.Context) (*sdk.PullRequest, *sdk.Response, error) {
		return a.within(ctx).GetPullRequest(p.Owner, p.Name, number)
	})
	if pr.Conflict { // or the server is checking: its response is the same
		pr.Mergeable = forge.MergeUnknown
	}
	return pr, err
}

// Change implements [forge.API].
func (a *API) Change(ctx context.Context, p forge.Path, pr forge.PullRequest, c forge.Change) error {
	call := forge.OfPull("update", p, pr.Number)
	o := sdk.EditPullRequestOption{Body: c.Body}
	title, changed := forge.Titled(pr, c, draft)
	if changed {
		o.Title = title
	}
	if c.Base != nil {
		o.Base = *c.Base
	}
	if c.State == forge.Closed {
		o.State = new(sdk.StateClosed)
	}
	if len(c.Assignees) > 0 { // the list replaces the present one
		o.Assignees = forge.Union(pr.Assignees, c.Assignees)
	}
	if changed || o.Body != nil || o.Base != "" || o.State != nil || o.Assignees != nil {
		if _, err := forge.One(ctx, a.Sender, call, func(ctx context.Context) (*sdk.PullRequest, *sdk.Response, error) {
			return a.within(ctx).EditPullRequest(p.Owner, p.Name, pr.Number, o)
		}); err != nil {
			return err
		}
	}
	if len(c.Reviewers) > 0 {
		users, teams := forge.Reviewers(c.Reviewers)
		err := a.Do(ctx, call, func(ctx context.Context) error {
			_, err := a.within(ctx).CreateReviewRequests(p.Owner, p.Name, pr.Number, sdk.PullReviewRequestOptions{Reviewers: users, TeamReviewers: teams})
			return err
		})
		if err != nil {
			return err
		}
	}
	return a.addLabels(ctx, call, pr.Number, c.Labels)
}

// addLabels adds labels, of the repository or its organization. The server ignores those
// that don't exist, which is an error here, after the others were added. The SDK adds only labels whose ids are known.
func (a *API) addLabels(ctx context.Context, call forge.Call, number int64, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	p := call.Repo
	var present []sdk.Label
	err := a.Do(ctx, call, func(ctx context.Context) error {
		return a.send(ctx, fmt.Sprintf("/repos/%s/%s/issues/%d/labels", p.Owner, p.Name, number), map[string]any{"labels": labels}, &present)
	})
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(labels), func(name string) bool {
		return slices.ContainsFunc(present, func(l sdk.Label) bool { return l.Name == name })
	})
	if len(missing) > 0 {
		return fmt.Errorf("%s: labels %w: %s; create them in the repository or its organization", call.What, forge.ErrNotFound, strings.Join(missing, ", "))
	}
	return nil
}

// createLabel creates a label. One that was created meanwhile is no error.
func (a *API) createLabel(ctx context.Context, p forge.Path, name string) error {
	c := forge.Call{What: "create a label in " + p.String(), Repo: p, Applied: func(ctx context.Context) (bool, error) {
		found := false
		err := forge.Each(ctx, a.Sender, forge.Call{What: "get the labels of " + p.String(), Repo: p}, func(ctx context.Context) ([]*sdk.Label, *sdk.Response, error) {
			return a.within(ctx).ListRepoLabels(p.Owner, p.Name, sdk.ListLabelsOptions{ListOptions: largest()})
		}, func(l *sdk.Label) error {
			found = found || l != nil && l.Name == name
			return nil
		})
		return found, err
	}}
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.Label, *sdk.Response, error) {
		return a.within(ctx).CreateLabel(p.Owner, p.Name, sdk.CreateLabelOption{Name: name, Color: "#d93f0b", Description: "Created by millhand"})
	})
	return err
}

// Merge implements [forge.API]. The SDK sends fields that Gitea does not document.
func (a *API) Merge(ctx context.Context, p forge.Path, pr forge.PullRequest, method forge.MergeMethod, applied func(context.Context) (bool, error)) error {
	c, path := forge.OfPull("merge", p, pr.Number).IfApplied(applied), fmt.Sprintf("/repos/%s/%s/pulls/%d/merge", p.Owner, p.Name, pr.Number)
	for tries := 1; ; tries++ {
		err := a.Do(ctx, c, func(ctx context.Context) error {
			return a.send(ctx, path, map[string]any{"do": method, "head_commit_id": pr.SHA}, nil)
		})
		var refused *forge.Error
		if tries == merges || !errors.As(err, &refused) || refused.Status != http.StatusMethodNotAllowed || !strings.Contains(refused.Message, "try again later") {
			return err
		}
		if err := a.Sleep.For(ctx, mergeWait); err != nil {
			return err
		}
	}
}

// Fork implements [forge.API].
func (a *API) Fork(ctx context.Context, p forge.Path, into string, own bool, applied func(context.Context) (bool, error)) error {
	o := sdk.CreateForkOption{}
	if !own {
		o.Organization = &into
	}
	_, err := forge.One(ctx, a.Sender, forge.Call{What: fmt.Sprintf("fork %s into %s", p, into), Repo: p, Applied: applied}, func(ctx context.Context) (*sdk.Repository, *sdk.Response, error) {
		return a.within(ctx).CreateFork(p.Owner, p.Name, o)
	})
	return err
}

// Repos implements [forge.API].
func (a *API) Repos(ctx context.Context, f forge.Filter) ([]forge.Repository, error) {
	c := forge.Call{What: "list repositories of " + f.Owner, Owner: f.Owner}
	var all []forge.Repository
	add := func(j *sdk.Repository) error {
		r := repository(j)
		all = append(all, r)
		return r.Check()
	}
	err := forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*sdk.Repository, *sdk.Response, error) {
		return a.within(ctx).ListOrgRepos(f.Owner, sdk.ListOrgReposOptions{ListOptions: largest()})
	}, add)
	if errors.Is(err, forge.ErrNotFound) {
		err = forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*sdk.Repository, *sdk.Response, error) {
			return a.within(ctx).ListUserRepos(f.Owner, sdk.ListReposOptions{ListOptions: largest()})
		}, add)
	}
	if err == nil && len(all) == 0 { // the list is also empty for an owner that the token can't see
		_, err = forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.User, *sdk.Response, error) {
			return a.within(ctx).GetUserInfo(f.Owner)
		})
	}
	return all, err
}

// Writes implements [forge.API].
func (a *API) Writes(ctx context.Context, p forge.Path, user string) (bool, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get the permission of " + user + " in " + p.String(), Repo: p}, func(ctx context.Context) (*sdk.CollaboratorPermissionResult, *sdk.Response, error) {
		return a.within(ctx).CollaboratorPermission(p.Owner, p.Name, user)
	})
	return j != nil && (j.Permission == sdk.AccessModeWrite || j.Permission == sdk.AccessModeAdmin || j.Permission == sdk.AccessModeOwner), err
}
