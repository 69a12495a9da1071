package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// Issues implements [forge.API]. Those of apps are not selected by their author: GitHub documents only users for that.
func (a *API) Issues(ctx context.Context, p forge.Path, author string) ([]forge.Issue, error) {
	o := &gh.IssueListByRepoOptions{State: "all", Creator: author, Sort: "created", Direction: "desc", ListOptions: largest()}
	if strings.HasSuffix(author, "[bot]") {
		o.Creator = ""
	}
	list, err := forge.One(ctx, a.Sender, forge.OfIssues("list", p), func(ctx context.Context) ([]*gh.Issue, *gh.Response, error) {
		return a.gh.Issues.ListByRepo(ctx, p.Owner, p.Name, o)
	})
	var all []forge.Issue
	for _, j := range list {
		if !j.IsPullRequest() {
			all = append(all, issue(j))
		}
	}
	return all, err
}

func issue(j *gh.Issue) forge.Issue {
	return forge.Issue{Number: int64(j.GetNumber()), URL: j.GetHTMLURL(), Author: j.GetUser().GetLogin(), Bot: j.GetUser().GetType() == "Bot", Text: j.GetBody()}
}

// CreateIssue implements [forge.API].
func (a *API) CreateIssue(ctx context.Context, p forge.Path, title, body string, applied func(context.Context) (bool, error)) (forge.Issue, error) {
	j, err := forge.One(ctx, a.Sender, forge.OfIssues("create", p).IfApplied(applied), func(ctx context.Context) (*gh.Issue, *gh.Response, error) {
		return a.gh.Issues.Create(ctx, p.Owner, p.Name, &gh.IssueRequest{Title: &title, Body: &body})
	})
	return issue(j), err
}

// AddLabel implements [forge.API].
func (a *API) AddLabel(ctx context.Context, p forge.Path, t forge.Thread, label string) error {
	return a.Do(ctx, forge.OfLabels(p, t), func(ctx context.Context) error { return a.addLabels(ctx, p, t.Number, []string{label}) })
}

// addLabels adds labels to an issue or pull request. go-github sends a list, which GitHub does not document.
func (a *API) addLabels(ctx context.Context, p forge.Path, number int64, labels []string) error {
	path := fmt.Sprintf("repos/%s/%s/issues/%d/labels", p.Owner, p.Name, number)
	req, err := a.gh.NewRequest(ctx, http.MethodPost, path, map[string]any{"labels": labels})
	if err == nil {
		_, err = a.gh.Do(req, nil)
	}
	return err
}
