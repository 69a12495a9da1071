package gitlab

import (
	"context"
	"fmt"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// Issues implements [forge.API].
func (a *API) Issues(ctx context.Context, p forge.Path, author string) ([]forge.Issue, error) {
	o := &gl.ListProjectIssuesOptions{OrderBy: new("created_at"), Sort: new("desc"), Scope: new("all"), ListOptions: largest()}
	if author != "" {
		o.AuthorUsername = &author
	}
	list, err := forge.One(ctx, a.Sender, forge.OfIssues("list", p), func(ctx context.Context) ([]*gl.Issue, *gl.Response, error) {
		return a.gl.Issues.ListProjectIssues(p.String(), o, gl.WithContext(ctx))
	})
	var all []forge.Issue
	for _, j := range list {
		all = append(all, issue(j))
	}
	return all, err
}

func issue(j *gl.Issue) forge.Issue {
	if j == nil {
		return forge.Issue{}
	}
	i := forge.Issue{Number: j.IID, URL: j.WebURL, Text: j.Description}
	if j.Author != nil {
		i.Author = j.Author.Username
	}
	return i
}

// CreateIssue implements [forge.API].
func (a *API) CreateIssue(ctx context.Context, p forge.Path, title, body string, applied func(context.Context) (bool, error)) (forge.Issue, error) {
	j, err := forge.One(ctx, a.Sender, forge.OfIssues("create", p).IfApplied(applied), func(ctx context.Context) (*gl.Issue, *gl.Response, error) {
		return a.gl.Issues.CreateIssue(p.String(), &gl.CreateIssueOptions{Title: &title, Description: &body}, gl.WithContext(ctx))
	})
	return issue(j), err
}

// AddLabel implements [forge.API]. GitLab reads a comma as the end of a label.
func (a *API) AddLabel(ctx context.Context, p forge.Path, t forge.Thread, label string) error {
	call, labels := forge.OfLabels(p, t), new(gl.LabelOptions{label})
	if strings.Contains(label, ",") {
		return fmt.Errorf("%s: %w: the label has a comma", call.What, forge.ErrInvalid)
	}
	return a.Do(ctx, call, func(ctx context.Context) (err error) {
		if t.Issue {
			_, _, err = a.gl.Issues.UpdateIssue(p.String(), t.Number, &gl.UpdateIssueOptions{AddLabels: labels}, gl.WithContext(ctx))
		} else {
			_, _, err = a.gl.MergeRequests.UpdateMergeRequest(p.String(), t.Number, &gl.UpdateMergeRequestOptions{AddLabels: labels}, gl.WithContext(ctx))
		}
		return err
	})
}
