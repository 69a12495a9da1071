package forge

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// WorkflowFiles is the directory of GitHub's workflows. Pushes that change something in it
// require a permission of its own.
const WorkflowFiles = ".github/workflows"

// actionsUser is the user of the token that GitHub creates for a workflow.
const actionsUser = "github-actions[bot]"

// Workflows returns why the token can't push changes of [WorkflowFiles] to a repository,
// with the fix; "" if it can. It is unknown for tokens whose permissions GitHub does not
// report, such as fine-grained ones. Other forges require no permission.
func (c *Client) Workflows(ctx context.Context, p Path) (missing string, known bool, err error) {
	g, ok := c.api.(GitHubAPI)
	if !ok {
		return "", true, nil
	}
	return g.Workflows(ctx, p)
}

func (g *github) Workflows(ctx context.Context, p Path) (missing string, known bool, err error) {
	// The request comes first: it creates the token of an app.
	header, err := g.send(ctx, call{what: "get the permissions of the token for " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p)})
	if err != nil {
		return "", false, err
	}
	if g.Permissions != nil {
		if granted := g.Permissions(p.Owner); granted != nil {
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
	user, err := g.App(ctx, p.Owner)
	if err == nil && user == actionsUser {
		return "the token that GitHub creates for a workflow (GITHUB_TOKEN) can't have this permission: use a token of a user or of a GitHub App", true, nil
	}
	return "", false, nil
}

// App returns the user of the token, also of an app's: NAME[bot].
func (g *github) App(ctx context.Context, owner string) (string, error) {
	var data struct {
		Viewer userJSON `json:"viewer"`
	}
	err := g.graphql(ctx, call{what: "get the token's user", owner: owner}, "query { viewer { login } }", nil, &data)
	return data.Viewer.Login, err
}

// RefusesWorkflow reports whether the message of a rejected push is GitHub's about a token
// that can't change workflows, such as "refusing to allow a GitHub App to create or update
// workflow `.github/workflows/ci.yml` without `workflows` permission".
func RefusesWorkflow(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "refusing to allow") && strings.Contains(message, "create or update") && strings.Contains(message, "workflow")
}
