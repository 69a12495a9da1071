package github

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/forge"
)

// actionsUser is the user of the token that GitHub creates for a workflow.
const actionsUser = "github-actions[bot]"

// Workflows implements [forge.API].
func (a *API) Workflows(ctx context.Context, p forge.Path) (missing string, known bool, err error) {
	// The request comes first: it creates the token of an app.
	var header http.Header
	err = a.Do(ctx, forge.Call{What: "get the permissions of the token for " + p.String(), Repo: p}, func(ctx context.Context) error {
		_, res, err := a.gh.Repositories.Get(ctx, p.Owner, p.Name)
		if err == nil {
			header = res.Header
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	if a.Permissions != nil {
		if granted := a.Permissions(p.Owner); granted != nil {
			if granted["workflows"] == "write" {
				return "", true, nil
			}
			return "the GitHub App lacks the permission \"Workflows: write\" for " + p.Owner + ": add it to the app, and accept it for the installation", true, nil
		}
	}
	// Classic tokens and those of OAuth apps have scopes.
	if list := header.Values("X-OAuth-Scopes"); list != nil {
		scopes := strings.Split(strings.ReplaceAll(strings.Join(list, ","), " ", ""), ",")
		if slices.Contains(scopes, "workflow") {
			return "", true, nil
		}
		return "the token lacks the scope \"workflow\": add it to the token", true, nil
	}
	user, err := a.App(ctx, p.Owner)
	if err == nil && user == actionsUser {
		return "the token that GitHub creates for a workflow (GITHUB_TOKEN) can't have this permission: use a token of a user or of a GitHub App", true, nil
	}
	return "", false, nil
}
