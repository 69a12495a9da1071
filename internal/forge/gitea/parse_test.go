package gitea

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
)

// FuzzPullRequest converts documents: what is returned has a number and a URL.
func FuzzPullRequest(f *testing.F) {
	f.Add([]byte(`{"number": 1, "html_url": "https://x/1", "state": "open", "head": {"ref": "a", "repo": null}, "base": {"ref": "main"}}`))
	f.Add([]byte(`{"number": 1, "html_url": "https://x/1", "head": null, "labels": [null], "assignees": [null], "updated_at": null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var doc *sdk.PullRequest
		if json.Unmarshal(body, &doc) == nil {
			pr, err := pullRequest(forge.Path{Owner: "Acme", Name: "web"}, doc)
			if err == nil && (pr.Number <= 0 || !strings.HasPrefix(pr.URL, "http")) {
				t.Fatalf("pull request %+v", pr)
			}
		}
		var repo *sdk.Repository
		if json.Unmarshal(body, &repo) == nil {
			_ = repository(repo)
		}
	})
}
