package gitea

import (
	"context"
	"errors"
	"fmt"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
)

// Issues implements [forge.API].
func (a *API) Issues(ctx context.Context, p forge.Path, author string) ([]forge.Issue, error) {
	o := sdk.ListIssueOption{State: sdk.StateAll, Type: sdk.IssueTypeIssue, CreatedBy: author, ListOptions: largest()}
	list, err := forge.One(ctx, a.Sender, forge.OfIssues("list", p), func(ctx context.Context) ([]*sdk.Issue, *sdk.Response, error) {
		return a.within(ctx).ListRepoIssues(p.Owner, p.Name, o)
	})
	var all []forge.Issue
	for _, j := range list {
		if j != nil {
			all = append(all, issue(j))
		}
	}
	return all, err
}

func issue(j *sdk.Issue) forge.Issue {
	if j == nil {
		return forge.Issue{}
	}
	return forge.Issue{Number: j.Index, URL: j.HTMLURL, Author: login(j.Poster), Text: j.Body}
}

// CreateIssue implements [forge.API].
func (a *API) CreateIssue(ctx context.Context, p forge.Path, title, body string, applied func(context.Context) (bool, error)) (forge.Issue, error) {
	j, err := forge.One(ctx, a.Sender, forge.OfIssues("create", p).IfApplied(applied), func(ctx context.Context) (*sdk.Issue, *sdk.Response, error) {
		return a.within(ctx).CreateIssue(p.Owner, p.Name, sdk.CreateIssueOption{Title: title, Body: body})
	})
	return issue(j), err
}

// AddLabel implements [forge.API].
func (a *API) AddLabel(ctx context.Context, p forge.Path, t forge.Thread, label string) error {
	call := forge.OfLabels(p, t)
	err := a.addLabels(ctx, call, t.Number, []string{label})
	if !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	if err := a.createLabel(ctx, p, label); err != nil {
		return fmt.Errorf("label %s: %w", label, err)
	}
	return a.addLabels(ctx, call, t.Number, []string{label})
}
