package gitlab

import (
	"context"
	"fmt"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// Diff implements [forge.API].
func (a *API) Diff(ctx context.Context, p forge.Path, number int64) ([]forge.FileDiff, error) {
	var all []forge.FileDiff
	err := forge.Each(ctx, a.Sender, forge.OfPull("get the diff of", p, number), func(ctx context.Context) ([]*gl.MergeRequestDiff, *gl.Response, error) {
		return a.gl.MergeRequests.ListMergeRequestDiffs(p.String(), number, &gl.ListMergeRequestDiffsOptions{ListOptions: largest()}, gl.WithContext(ctx))
	}, func(j *gl.MergeRequestDiff) error {
		if j == nil {
			return fmt.Errorf("%w: a file that is null", forge.ErrResponse)
		}
		all = append(all, forge.FileDiff{Old: j.OldPath, Path: j.NewPath, Hunks: j.Diff})
		return nil
	})
	return all, err
}

// discussions passes the discussions of a merge request to add.
func (a *API) discussions(ctx context.Context, c forge.Call, number int64, add func(*gl.Discussion)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gl.Discussion, *gl.Response, error) {
		return a.gl.Discussions.ListMergeRequestDiscussions(c.Repo.String(), number, &gl.ListMergeRequestDiscussionsOptions{ListOptions: largest()}, gl.WithContext(ctx))
	}, func(j *gl.Discussion) error {
		if j == nil {
			return fmt.Errorf("%w: a discussion that is null", forge.ErrResponse)
		}
		add(j)
		return nil
	})
}

// LineComments implements [forge.API]: the first comment of each discussion on a line.
func (a *API) LineComments(ctx context.Context, p forge.Path, number int64) ([]forge.LineComment, error) {
	var all []forge.LineComment
	err := a.discussions(ctx, forge.OfReview(p, number), number, func(j *gl.Discussion) {
		if len(j.Notes) == 0 || j.Notes[0] == nil || j.Notes[0].Position == nil {
			return
		}
		n := j.Notes[0]
		all = append(all, forge.LineComment{ID: n.ID, Thread: j.ID, Author: n.Author.Username, Body: n.Body, Resolved: n.Resolved})
	})
	return all, err
}

// Review creates a discussion for each line. GitLab finds a line by its number in the new version if it was added, and by both
// numbers otherwise.
func (a *API) Review(ctx context.Context, p forge.Path, r forge.Review, applied func(context.Context, forge.NewLine) (bool, error)) error {
	for _, l := range r.Lines {
		at := &gl.PositionOptions{
			BaseSHA: &r.Pull.BaseSHA, HeadSHA: &r.Pull.SHA, StartSHA: &r.Pull.Start, PositionType: new("text"),
			OldPath: &l.Old, NewPath: &l.Path, NewLine: new(int64(l.Line)),
		}
		if l.OldLine > 0 {
			at.OldLine = new(int64(l.OldLine))
		}
		c := forge.OfReview(p, r.Pull.Number).IfApplied(func(ctx context.Context) (bool, error) { return applied(ctx, l) })
		_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gl.Discussion, *gl.Response, error) {
			return a.gl.Discussions.CreateMergeRequestDiscussion(p.String(), r.Pull.Number, &gl.CreateMergeRequestDiscussionOptions{Body: &l.Body, Position: at}, gl.WithContext(ctx))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EditLine implements [forge.API]. The text comes last: it shows a run after a kill that all is done.
func (a *API) EditLine(ctx context.Context, p forge.Path, number int64, l forge.LineComment, body string, resolved bool) error {
	c := forge.OfReview(p, number)
	if resolved != l.Resolved {
		_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gl.Discussion, *gl.Response, error) {
			return a.gl.Discussions.ResolveMergeRequestDiscussion(p.String(), number, l.Thread, &gl.ResolveMergeRequestDiscussionOptions{Resolved: &resolved}, gl.WithContext(ctx))
		})
		if err != nil {
			return err
		}
	}
	if body == l.Body {
		return nil
	}
	_, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gl.Note, *gl.Response, error) {
		return a.gl.Discussions.UpdateMergeRequestDiscussionNote(p.String(), number, l.Thread, l.ID, &gl.UpdateMergeRequestDiscussionNoteOptions{Body: &body}, gl.WithContext(ctx))
	})
	return err
}
