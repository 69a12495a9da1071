package forge_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestPermissionForWorkflows(t *testing.T) {
	type permissions = map[string]string
	for name, c := range map[string]struct {
		scopes []string
		app    permissions
		user   string
		bot    string
		kind   forge.Kind
		want   string // "" for the permission
		known  bool
	}{
		"classic":               {scopes: []string{"repo", "workflow"}, user: "mill", known: true},
		"classic without":       {scopes: []string{"repo"}, user: "mill", known: true, want: `lacks the scope "workflow"`},
		"similar scope":         {scopes: []string{"repo", "workflows:read"}, user: "mill", known: true, want: `lacks the scope "workflow"`},
		"classic without any":   {scopes: []string{}, user: "mill", known: true, want: `lacks the scope "workflow"`},
		"fine-grained":          {user: "mill"},
		"app":                   {app: permissions{"contents": "write", "workflows": "write"}, known: true},
		"app without":           {app: permissions{"contents": "write"}, known: true, want: `lacks the permission "Workflows: write" for Acme`},
		"app of another action": {bot: "helper[bot]"},
		"workflow's own":        {bot: "github-actions[bot]", known: true, want: "GITHUB_TOKEN"},
		"GitLab":                {kind: forge.GitLab, user: "mill", known: true},
		"Gitea":                 {kind: forge.Gitea, user: "mill", known: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.kind == "" {
				c.kind = forge.GitHub
			}
			p := open(t, c.kind, func(o *forge.Options) {
				o.Permissions = func(string) map[string]string { return c.app }
			})
			p.Tokens.Scopes, p.User, p.Tokens.Bot = c.scopes, c.user, c.bot
			missing, known, err := p.Workflows(t.Context(), web)
			if err != nil || known != c.known || (missing == "") != (c.want == "") || !strings.Contains(missing, c.want) {
				t.Errorf("missing %q, known %t, error %v", missing, known, err)
			}
		})
	}
}

// A token that may not ask for its user is unknown.
func TestUnknownWhereGraphQLFails(t *testing.T) {
	p := open(t, forge.GitHub)
	p.Fail(1, forgetest.Expired, "POST", "/graphql")
	if missing, known, err := p.Workflows(t.Context(), web); missing != "" || known || err != nil {
		t.Errorf("missing %q, known %t, error %v", missing, known, err)
	}
	if _, _, err := p.Workflows(t.Context(), forge.Path{Owner: "Acme", Name: "none"}); err == nil {
		t.Error("a missing repository has permissions")
	}
}

func TestRejectedWorkflowIsRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"refusing to allow a Personal Access Token to create or update workflow `.github/workflows/a.yml` without `workflow` scope":      true,
		"ng refs/heads/x refusing to allow an OAuth App to create or update workflow `.github/workflows/a.yml` without `workflow` scope": true,
		"refusing to allow a GitHub App to create or update workflow `.github/workflows/a.yml` without `workflows` permission":           true,
		"refusing to allow an integration to create or update .github/workflows/a.yml":                                                   true,
		"protected branch hook declined":                     false,
		"refusing to allow an update of the branch workflow": false,
	} {
		if got := forge.RefusesWorkflow(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
