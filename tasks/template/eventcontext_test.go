package template

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

func TestContextsOfEvents(t *testing.T) {
	const repo = `"repository": {"full_name": "acme/api"}`
	for name, tt := range map[string]struct {
		event string
		env   map[string]string
		want  string // REPO NUMBER ISSUE TIME HEAD: names of the texts; or the error
	}{
		"a comment on an issue": {
			event: `{` + repo + `, "issue": {"number": 7, "title": "t", "body": "b", "updated_at": "2029-01-02T00:00:00Z"}, "comment": {"body": "c", "updated_at": "2029-01-01T00:00:00Z"}}`,
			want:  "acme/api 7 true 2029-01-01T00:00:00Z : title description comment",
		},
		"a comment on a pull request": {
			event: `{` + repo + `, "issue": {"number": 7, "title": "t", "body": null, "pull_request": {}}, "comment": {"body": "c", "created_at": "2029-01-01T01:00:00+01:00"}}`,
			want:  "acme/api 7 false 2029-01-01T00:00:00Z : title comment",
		},
		"a pull request": {
			event: `{` + repo + `, "pull_request": {"number": 8, "title": "t", "body": "b", "updated_at": "2029-01-01T00:00:00Z", "head": {"sha": "abc"}}}`,
			want:  "acme/api 8 false 2029-01-01T00:00:00Z abc: title description",
		},
		"a review": {
			event: `{` + repo + `, "pull_request": {"number": 8, "title": "t", "updated_at": "2029-01-03T00:00:00Z", "head": {"sha": "abc"}}, "review": {"body": "r", "submitted_at": "2029-01-01T00:00:00Z"}}`,
			want:  "acme/api 8 false 2029-01-01T00:00:00Z abc: title review",
		},
		"a workflow that ended": {
			event: `{` + repo + `, "workflow_run": {"head_sha": "abc", "updated_at": "2029-01-01T00:00:00Z", "pull_requests": [{"number": 8}]}}`,
			want:  "acme/api 8 false 2029-01-01T00:00:00Z abc: ",
		},
		"a merge request of GitLab": {
			event: `{"object_kind": "merge_request", "project": {"path_with_namespace": "acme/sub/api"}, "object_attributes": {"iid": 3, "title": "t", "description": "d", "updated_at": "2029-01-01 00:00:00 UTC", "last_commit": {"id": "abc"}}}`,
			want:  "acme/sub/api 3 false 2029-01-01T00:00:00Z abc: title description",
		},
		"a comment on an issue of GitLab": {
			event: `{"object_kind": "note", "project": {"path_with_namespace": "acme/api"}, "object_attributes": {"note": "n", "updated_at": "2029-01-01 00:00:00 UTC"}, "issue": {"iid": 3, "title": "t"}}`,
			want:  "acme/api 3 true 2029-01-01T00:00:00Z : title comment",
		},
		"a comment on a commit of GitLab": {
			event: `{"object_kind": "note", "project": {"path_with_namespace": "acme/api"}, "object_attributes": {"note": "n", "updated_at": "2029-01-01 00:00:00 UTC"}}`,
			want:  "the event has no issue or pull request",
		},
		"a pipeline of a merge request": {
			env:  map[string]string{"CI_MERGE_REQUEST_IID": "3", "CI_PROJECT_PATH": "acme/api", "CI_PIPELINE_CREATED_AT": "2029-01-01T00:00:00Z", "CI_MERGE_REQUEST_TITLE": "t", "CI_COMMIT_SHA": "abc"},
			want: "acme/api 3 false 2029-01-01T00:00:00Z abc: title",
		},
		"a pipeline with an invalid number": {
			env:  map[string]string{"CI_MERGE_REQUEST_IID": "x", "CI_PROJECT_PATH": "acme/api", "CI_PIPELINE_CREATED_AT": "2029-01-01T00:00:00Z"},
			want: "no event: GITHUB_EVENT_PATH is not set",
		},
		"a pipeline without a time": {env: map[string]string{"CI_MERGE_REQUEST_IID": "3", "CI_PROJECT_PATH": "acme/api"}, want: "the event has no time"},
		"a push":                    {event: `{` + repo + `, "ref": "refs/heads/main"}`, want: "the event has no issue or pull request"},
		"no time":                   {event: `{` + repo + `, "issue": {"number": 7, "updated_at": "yesterday"}}`, want: "the event has no time"},
		"no repository":             {event: `{"issue": {"number": 7}}`, want: "the event has no issue or pull request"},
		"invalid values":            {event: `{"repository": 1, "issue": {"number": -7, "title": {}}, "comment": [], "pull_request": "x"}`, want: "the event has no issue or pull request"},
		"no event":                  {want: "no event: GITHUB_EVENT_PATH is not set"},
	} {
		o := tasks.Options{Getenv: func(name string) string { return tt.env[name] }}
		if tt.event != "" {
			o.Event = filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(o.Event, []byte(tt.event), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := EventOf(o, form.NewUses()).Context(o.Getenv)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, b := range strings.Split(c.Texts, `<event name="`)[1:] {
				name, _, _ := strings.Cut(b, `"`)
				names = append(names, name)
			}
			got = strings.Join([]string{c.Repo, fmt.Sprint(c.Number), fmt.Sprint(c.Issue), c.At.Format("2006-01-02T15:04:05Z"), c.Head + ": " + strings.Join(names, " ")}, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
