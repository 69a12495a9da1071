package github

import (
	"cmp"
	"context"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// Diff implements [forge.API].
func (a *API) Diff(ctx context.Context, p forge.Path, number int64) ([]forge.FileDiff, error) {
	var all []forge.FileDiff
	err := forge.Each(ctx, a.Sender, forge.OfPull("get the diff of", p, number), func(ctx context.Context) ([]*gh.CommitFile, *gh.Response, error) {
		return a.gh.PullRequests.ListFiles(ctx, p.Owner, p.Name, int(number), new(largest()))
	}, func(j *gh.CommitFile) error {
		all = append(all, forge.FileDiff{Old: cmp.Or(j.GetPreviousFilename(), j.GetFilename()), Path: j.GetFilename(), Hunks: j.GetPatch()})
		return nil
	})
	return all, err
}

// lines passes the comments on lines of a pull request to add.
func (a *API) lines(ctx context.Context, c forge.Call, number int64, add func(*gh.PullRequestComment)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gh.PullRequestComment, *gh.Response, error) {
		return a.gh.PullRequests.ListComments(ctx, c.Repo.Owner, c.Repo.Name, int(number), &gh.PullRequestListCommentsOptions{ListOptions: largest()})
	}, func(j *gh.PullRequestComment) error {
		add(j)
		return nil
	})
}

// LineComments implements [forge.API].
func (a *API) LineComments(ctx context.Context, p forge.Path, number int64) ([]forge.LineComment, error) {
	var all []forge.LineComment
	err := a.lines(ctx, forge.OfReview(p, number), number, func(j *gh.PullRequestComment) {
		all = append(all, forge.LineComment{ID: j.GetID(), Author: j.GetUser().GetLogin(), Bot: j.GetUser().GetType() == "Bot", Body: j.GetBody()})
	})
	return all, err
}

// Review implements [forge.API].
func (a *API) Review(ctx context.Context, p forge.Path, r forge.Review, applied func(context.Context, forge.NewLine) (bool, error)) error {
	if len(r.Lines) == 0 {
		return nil
	}
	n := &gh.PullRequestReviewRequest{CommitID: &r.Pull.SHA, Body: &r.Text, Event: new("COMMENT")}
	for _, l := range r.Lines {
		n.Comments = append(n.Comments, &gh.DraftReviewComment{Path: &l.Path, Line: &l.Line, Side: new("RIGHT"), Body: &l.Body})
	}
	c := forge.OfReview(p, r.Pull.Number).IfApplied(func(ctx context.Context) (bool, error) { return applied(ctx, r.Lines[0]) })
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gh.PullRequestReview, *gh.Response, error) {
		return a.gh.PullRequests.CreateReview(ctx, p.Owner, p.Name, int(r.Pull.Number), n)
	})
	return err
}

// EditLine implements [forge.API].
func (a *API) EditLine(ctx context.Context, p forge.Path, number int64, l forge.LineComment, body string, _ bool) error {
	_, err := forge.One(ctx, a.Sender, forge.OfReview(p, number), func(ctx context.Context) (*gh.PullRequestComment, *gh.Response, error) {
		return a.gh.PullRequests.EditComment(ctx, p.Owner, p.Name, l.ID, &gh.PullRequestComment{Body: &body})
	})
	return err
}
