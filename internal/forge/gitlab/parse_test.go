package gitlab

import (
	"encoding/json"
	"strings"
	"testing"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// FuzzMergeRequest converts documents: what is returned has a number and a URL.
func FuzzMergeRequest(f *testing.F) {
	f.Add([]byte(`{"iid": 1, "web_url": "https://x/1", "state": "opened", "head_pipeline": null, "source_project_id": null}`))
	f.Add([]byte(`{"iid": 1, "web_url": "https://x/1", "state": "merged", "assignees": [null], "labels": null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var doc *gl.BasicMergeRequest
		if json.Unmarshal(body, &doc) == nil {
			pr, err := pullRequest(doc, forge.Path{})
			if err == nil && (pr.Number <= 0 || !strings.HasPrefix(pr.URL, "http")) {
				t.Fatalf("pull request %+v", pr)
			}
		}
		var repo *gl.Project
		if json.Unmarshal(body, &repo) == nil {
			_ = repository(repo)
		}
	})
}
