package github

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// Comments implements [forge.API].
func (a *API) Comments(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Comment, error) {
	var all []forge.Comment
	err := a.comments(ctx, forge.OfThread(p, t), t.Number, func(j *gh.IssueComment) { all = append(all, comment(j)) })
	return all, err
}

func (a *API) comments(ctx context.Context, c forge.Call, number int64, add func(*gh.IssueComment)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gh.IssueComment, *gh.Response, error) {
		return a.gh.Issues.ListComments(ctx, c.Repo.Owner, c.Repo.Name, int(number), &gh.IssueListCommentsOptions{ListOptions: largest()})
	}, func(j *gh.IssueComment) error {
		add(j)
		return nil
	})
}

func comment(j *gh.IssueComment) forge.Comment {
	return forge.Comment{URL: j.GetHTMLURL(), ID: j.GetID(), Author: j.GetUser().GetLogin(), Bot: j.GetUser().GetType() == "Bot", Text: j.GetBody()}
}

// Comment implements [forge.API].
func (a *API) Comment(ctx context.Context, p forge.Path, t forge.Thread, id int64, body string, applied func(context.Context) (bool, error)) (forge.Comment, error) {
	c, text := forge.OfThread(p, t), &gh.IssueComment{Body: &body}
	if id == 0 {
		c.Applied = applied
	}
	j, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gh.IssueComment, *gh.Response, error) {
		if id != 0 {
			return a.gh.Issues.EditComment(ctx, p.Owner, p.Name, id, text)
		}
		return a.gh.Issues.CreateComment(ctx, p.Owner, p.Name, int(t.Number), text)
	})
	return comment(j), err
}

// Remarks implements [forge.API].
func (a *API) Remarks(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Remark, error) {
	c, number := forge.OfRemarks(p, t), t.Number
	var all []forge.Remark
	add := func(prefix string, id int64, user *gh.User, r forge.Remark) {
		if strings.TrimSpace(r.Body) == "" {
			return
		}
		r.ID, r.Author, r.Bot = prefix+strconv.FormatInt(id, 10), user.GetLogin(), user.GetType() == "Bot"
		all = append(all, r)
	}
	err := a.comments(ctx, c, number, func(j *gh.IssueComment) {
		add("c", j.GetID(), j.GetUser(), forge.Remark{URL: j.GetHTMLURL(), Body: j.GetBody(), At: j.GetCreatedAt().Time, Edited: j.GetUpdatedAt().Time})
	})
	if err != nil || t.Issue {
		return all, err
	}
	err = a.lines(ctx, c, number, func(j *gh.PullRequestComment) {
		add("r", j.GetID(), j.GetUser(), forge.Remark{
			URL: j.GetHTMLURL(), Body: j.GetBody(), Path: j.GetPath(), Line: cmp.Or(j.GetLine(), j.GetPosition()),
			At: j.GetCreatedAt().Time, Edited: j.GetUpdatedAt().Time,
		})
	})
	if err != nil {
		return nil, err
	}
	err = forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gh.PullRequestReview, *gh.Response, error) {
		return a.gh.PullRequests.ListReviews(ctx, p.Owner, p.Name, int(number), new(largest()))
	}, func(j *gh.PullRequestReview) error {
		if state := j.GetState(); state != "APPROVED" && state != "PENDING" && state != "DISMISSED" {
			add("v", j.GetID(), j.GetUser(), forge.Remark{URL: j.GetHTMLURL(), Body: j.GetBody(), At: j.GetSubmittedAt().Time})
		}
		return nil
	})
	return all, err
}

// CommitOf implements [forge.API].
func (a *API) CommitOf(ctx context.Context, p forge.Path, sha string) (forge.CommitInfo, error) {
	found, err := forge.One(ctx, a.Sender, forge.Call{What: "get commit " + sha + " of " + p.String(), Repo: p}, func(ctx context.Context) (*gh.Commit, *gh.Response, error) {
		return a.gh.Git.GetCommit(ctx, p.Owner, p.Name, sha)
	})
	info := forge.CommitInfo{Message: found.GetMessage()}
	if found != nil && len(found.Parents) > 0 {
		info.Parent = found.Parents[0].GetSHA()
	}
	return info, err
}

// Created implements [forge.API].
func (a *API) Created(ctx context.Context, p forge.Path, number int64) (time.Time, error) {
	found, err := forge.One(ctx, a.Sender, forge.OfPull("get", p, number), func(ctx context.Context) (*gh.PullRequest, *gh.Response, error) {
		return a.gh.PullRequests.Get(ctx, p.Owner, p.Name, int(number))
	})
	return found.GetCreatedAt().Time, err
}
