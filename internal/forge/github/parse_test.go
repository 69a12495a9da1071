package github

import (
	"encoding/json"
	"strings"
	"testing"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// FuzzPullRequest converts documents: what is returned has a number and a URL.
func FuzzPullRequest(f *testing.F) {
	f.Add([]byte(`{"number": 1, "html_url": "https://x/1", "state": "open", "head": {"ref": "a", "repo": null}, "base": {"ref": "main"}}`))
	f.Add([]byte(`{"number": 1, "html_url": "https://x/1", "head": null, "labels": [null], "mergeable": true, "mergeable_state": "behind"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var doc *gh.PullRequest
		if json.Unmarshal(body, &doc) == nil {
			pr, err := pullRequest(forge.Path{Owner: "Acme", Name: "web"}, doc)
			if err == nil && (pr.Number <= 0 || !strings.HasPrefix(pr.URL, "http")) {
				t.Fatalf("pull request %+v", pr)
			}
		}
		var repo *gh.Repository
		if json.Unmarshal(body, &repo) == nil {
			_ = repository(repo)
		}
	})
}

// GitHub's document lacks that the repository of a head can be null.
func TestHeadsOfDeletedForks(t *testing.T) {
	var doc *gh.PullRequest
	if err := json.Unmarshal([]byte(`{"number": 1, "html_url": "https://x/1", "state": "open", "head": {"ref": "main", "repo": null}, "base": {"ref": "main"}}`), &doc); err != nil {
		t.Fatal(err)
	}
	pr, err := pullRequest(forge.Path{Owner: "Acme", Name: "web"}, doc)
	if want := (forge.Head{Repo: forge.Unknown(), Branch: "main"}); err != nil || pr.Head != want {
		t.Errorf("%+v, want %+v (%v)", pr.Head, want, err)
	}
}
