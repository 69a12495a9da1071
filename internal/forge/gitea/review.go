package gitea

import (
	"context"
	"errors"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/unidiff"
)

// Diff implements [forge.API].
func (a *API) Diff(ctx context.Context, p forge.Path, number int64) ([]forge.FileDiff, error) {
	text, err := forge.One(ctx, a.Sender, forge.OfPull("get the diff of", p, number), func(ctx context.Context) ([]byte, *sdk.Response, error) {
		return a.within(ctx).GetPullRequestDiff(p.Owner, p.Name, number, sdk.PullRequestDiffOptions{})
	})
	var all []forge.FileDiff
	for _, s := range unidiff.Split(string(text)) {
		all = append(all, forge.FileDiff{Old: s.Old, Path: s.Path, Hunks: s.Hunks})
	}
	return all, err
}

// lines passes the comments on lines of a pull request to add, and before those of a review the review itself, unless that is
// nil.
func (a *API) lines(ctx context.Context, c forge.Call, number int64, review func(*sdk.PullReview), add func(*sdk.PullReviewComment)) error {
	var reviews []int64
	err := forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*sdk.PullReview, *sdk.Response, error) {
		return a.within(ctx).ListPullReviews(c.Repo.Owner, c.Repo.Name, number, sdk.ListPullReviewsOptions{ListOptions: largest()})
	}, func(j *sdk.PullReview) error {
		if j == nil || j.State == sdk.ReviewStatePending {
			return nil
		}
		reviews = append(reviews, j.ID)
		if review != nil {
			review(j)
		}
		return nil
	})
	for _, id := range reviews {
		if err != nil {
			return err
		}
		err = forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*sdk.PullReviewComment, *sdk.Response, error) {
			return a.within(ctx).ListPullReviewComments(c.Repo.Owner, c.Repo.Name, number, id)
		}, func(j *sdk.PullReviewComment) error {
			if j != nil {
				add(j)
			}
			return nil
		})
	}
	return err
}

// LineComments implements [forge.API].
func (a *API) LineComments(ctx context.Context, p forge.Path, number int64) ([]forge.LineComment, error) {
	var all []forge.LineComment
	err := a.lines(ctx, forge.OfReview(p, number), number, nil, func(j *sdk.PullReviewComment) {
		all = append(all, forge.LineComment{ID: j.ID, Author: login(j.Reviewer), Body: j.Body, Resolved: j.Resolver != nil})
	})
	return all, err
}

// Review implements [forge.API].
func (a *API) Review(ctx context.Context, p forge.Path, r forge.Review, applied func(context.Context, forge.NewLine) (bool, error)) error {
	if len(r.Lines) == 0 {
		return nil
	}
	o := sdk.CreatePullReviewOptions{State: sdk.ReviewStateComment, Body: r.Text, CommitID: r.Pull.SHA}
	for _, l := range r.Lines {
		o.Comments = append(o.Comments, sdk.CreatePullReviewComment{Path: l.Path, Body: l.Body, NewLineNum: int64(l.Line)})
	}
	c := forge.OfReview(p, r.Pull.Number).IfApplied(func(ctx context.Context) (bool, error) { return applied(ctx, r.Lines[0]) })
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.PullReview, *sdk.Response, error) {
		return a.within(ctx).CreatePullReview(p.Owner, p.Name, r.Pull.Number, o)
	})
	return err
}

// EditLine implements [forge.API]. Servers before Gitea 1.26 can't resolve a thread. The text comes last: it shows a run after
// a kill that all is done.
func (a *API) EditLine(ctx context.Context, p forge.Path, number int64, l forge.LineComment, body string, resolved bool) error {
	c := forge.OfReview(p, number)
	if resolved != l.Resolved {
		err := a.Do(ctx, c, func(ctx context.Context) error {
			set := a.within(ctx).ResolvePullReviewComment
			if !resolved {
				set = a.within(ctx).UnresolvePullReviewComment
			}
			_, err := set(p.Owner, p.Name, l.ID)
			return err
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
	}
	if body == l.Body {
		return nil
	}
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*sdk.Comment, *sdk.Response, error) {
		return a.within(ctx).EditIssueComment(p.Owner, p.Name, l.ID, sdk.EditIssueCommentOption{Body: body})
	})
	return err
}
