package gitea

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
)

// comments passes the comments on an issue or a pull request to add.
func (a *API) comments(ctx context.Context, c forge.Call, number int64, add func(*sdk.Comment)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*sdk.Comment, *sdk.Response, error) {
		return a.within(ctx).ListIssueComments(c.Repo.Owner, c.Repo.Name, number, sdk.ListIssueCommentOptions{ListOptions: largest()})
	}, func(j *sdk.Comment) error {
		if j != nil {
			add(j)
		}
		return nil
	})
}

// Comments implements [forge.API].
func (a *API) Comments(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Comment, error) {
	c := forge.OfThread(p, t)
	// Of a missing issue, the list is a failure of the server.
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.Issue, *sdk.Response, error) {
		return a.within(ctx).GetIssue(p.Owner, p.Name, t.Number)
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Comment
	err = a.comments(ctx, c, t.Number, func(j *sdk.Comment) { all = append(all, comment(j)) })
	return all, err
}

func comment(j *sdk.Comment) forge.Comment {
	if j == nil {
		return forge.Comment{}
	}
	return forge.Comment{URL: j.HTMLURL, ID: j.ID, Author: login(j.Poster), Text: j.Body}
}

// Comment implements [forge.API].
func (a *API) Comment(ctx context.Context, p forge.Path, t forge.Thread, id int64, body string, applied func(context.Context) (bool, error)) (forge.Comment, error) {
	c := forge.OfThread(p, t)
	if id == 0 {
		c.Applied = applied
	}
	j, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.Comment, *sdk.Response, error) {
		if id != 0 {
			return a.within(ctx).EditIssueComment(p.Owner, p.Name, id, sdk.EditIssueCommentOption{Body: body})
		}
		return a.within(ctx).CreateIssueComment(p.Owner, p.Name, t.Number, sdk.CreateIssueCommentOption{Body: body})
	})
	return comment(j), err
}

// Remarks implements [forge.API].
func (a *API) Remarks(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Remark, error) {
	c, number := forge.OfRemarks(p, t), t.Number
	var all []forge.Remark
	add := func(prefix string, id int64, by *sdk.User, r forge.Remark) {
		if strings.TrimSpace(r.Body) != "" {
			r.ID, r.Author = prefix+strconv.FormatInt(id, 10), login(by)
			all = append(all, r)
		}
	}
	err := a.comments(ctx, c, number, func(j *sdk.Comment) {
		add("c", j.ID, j.Poster, forge.Remark{URL: j.HTMLURL, Body: j.Body, At: j.Created, Edited: j.Updated})
	})
	if err != nil || t.Issue {
		return all, err
	}
	err = a.lines(ctx, c, number, func(j *sdk.PullReview) {
		if j.State != sdk.ReviewStateApproved && j.State != "DISMISSED" {
			add("v", j.ID, j.Reviewer, forge.Remark{URL: j.HTMLURL, Body: j.Body, At: j.Submitted})
		}
	}, func(j *sdk.PullReviewComment) {
		add("r", j.ID, j.Reviewer, forge.Remark{URL: j.HTMLURL, Body: j.Body, Path: j.Path, Line: int(j.LineNum), At: j.Created, Edited: j.Updated})
	})
	return all, err
}

// statuses returns the statuses of a commit, the newest first: several are created in one second, by which Gitea sorts them.
func (a *API) statuses(ctx context.Context, p forge.Path, sha string) ([]*sdk.Status, error) {
	var found []*sdk.Status
	err := forge.Each(ctx, a.Sender, forge.OfCommit(p, sha), func(ctx context.Context) ([]*sdk.Status, *sdk.Response, error) {
		return a.within(ctx).ListStatuses(p.Owner, p.Name, sha, sdk.ListStatusesOption{ListOptions: largest()})
	}, func(j *sdk.Status) error {
		if j != nil {
			found = append(found, j)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b *sdk.Status) int { return cmp.Compare(b.ID, a.ID) })
	return found, err
}

// Checks looks at each status: the server combines only those of one page.
func (a *API) Checks(ctx context.Context, p forge.Path, pr forge.PullRequest) (forge.PullRequest, error) {
	list, err := a.CheckList(ctx, p, pr.SHA)
	for _, c := range list {
		pr.Checks = pr.Checks.With(c.Status)
	}
	return pr, err
}

// CheckList returns the statuses of a commit: Gitea's API has no logs for them.
func (a *API) CheckList(ctx context.Context, p forge.Path, sha string) ([]forge.Check, error) {
	found, err := a.statuses(ctx, p, sha)
	var all []forge.Check
	for _, j := range found {
		check := forge.Check{Name: j.Context, Text: j.Description, URL: j.TargetURL}
		switch j.State {
		case sdk.StatusPending:
			check.Status = forge.ChecksPending
		case sdk.StatusSuccess, sdk.StatusWarning, "skipped":
			check.Status = forge.ChecksPassed
		default:
			check.Status = forge.ChecksFailed
		}
		all = append(all, check)
	}
	return forge.Latest(all), err
}

// CheckLog implements [forge.API].
func (a *API) CheckLog(context.Context, forge.Path, forge.Check, int) (string, error) { return "", nil }

// CheckTime implements [forge.API].
func (a *API) CheckTime(ctx context.Context, p forge.Path, sha string) (sum time.Duration, err error) {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	found, err := a.statuses(ctx, p, sha)
	for _, j := range found {
		if j.Created.IsZero() {
			continue
		}
		if at, ok := first[j.Context]; !ok || j.Created.Before(at) {
			first[j.Context] = j.Created
		}
		if j.Updated.After(last[j.Context]) {
			last[j.Context] = j.Updated
		}
	}
	for name, from := range first {
		if last[name].After(from) {
			sum += last[name].Sub(from)
		}
	}
	return sum, err
}

// CommitOf implements [forge.API].
func (a *API) CommitOf(ctx context.Context, p forge.Path, sha string) (forge.CommitInfo, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get commit " + sha + " of " + p.String(), Repo: p}, func(ctx context.Context) (*sdk.Commit, *sdk.Response, error) {
		return a.within(ctx).GetSingleCommit(p.Owner, p.Name, sha)
	})
	var info forge.CommitInfo
	if err != nil || j == nil {
		return info, err
	}
	if j.RepoCommit != nil {
		info.Message = j.RepoCommit.Message
	}
	if len(j.Parents) > 0 && j.Parents[0] != nil {
		info.Parent = j.Parents[0].SHA
	}
	return info, nil
}

// Created implements [forge.API].
func (a *API) Created(ctx context.Context, p forge.Path, number int64) (time.Time, error) {
	j, err := forge.One(ctx, a.Sender, forge.OfPull("get", p, number), func(ctx context.Context) (*sdk.PullRequest, *sdk.Response, error) {
		return a.within(ctx).GetPullRequest(p.Owner, p.Name, number)
	})
	if err != nil || j == nil || j.Created == nil {
		return time.Time{}, err
	}
	return *j.Created, nil
}
