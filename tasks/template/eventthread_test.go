package template

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestThreadOfAnEvent(t *testing.T) {
	none := func(string) string { return "" }
	for _, tt := range []struct {
		name, payload string
		want          tasks.Thread
	}{
		{"a comment on an issue", `{"issue": {"number": 7}, "repository": {"full_name": "acme/api"}}`, tasks.Thread{Repo: "acme/api", Number: 7, Issue: true}},
		{"a comment on a pull request", `{"issue": {"number": 7, "pull_request": {"url": "u"}}, "repository": {"full_name": "acme/api"}}`, tasks.Thread{Repo: "acme/api", Number: 7}},
		{"a comment on a line", `{"pull_request": {"number": 8}, "repository": {"full_name": "acme/api"}}`, tasks.Thread{Repo: "acme/api", Number: 8}},
		{"a push", `{"ref": "refs/heads/main", "repository": {"full_name": "acme/api"}}`, tasks.Thread{}},
		{"a text for a number", `{"issue": {"number": "x"}, "repository": {"full_name": "acme/api"}}`, tasks.Thread{}},
		{"a negative number", `{"issue": {"number": -7}, "repository": {"full_name": "acme/api"}}`, tasks.Thread{}},
		{"no repository", `{"issue": {"number": 7}}`, tasks.Thread{}},
		{"types that are others", `{"issue": 7, "pull_request": [1], "repository": "acme/api"}`, tasks.Thread{}},
		{"a note of GitLab on a merge request", `{"object_kind": "note", "project": {"path_with_namespace": "a/b/c"}, "merge_request": {"iid": 3}, "object_attributes": {"iid": 9}}`, tasks.Thread{Repo: "a/b/c", Number: 3}},
		{"a note of GitLab on an issue", `{"object_kind": "note", "project": {"path_with_namespace": "a/b"}, "issue": {"iid": 4}}`, tasks.Thread{Repo: "a/b", Number: 4, Issue: true}},
		{"a merge request of GitLab", `{"object_kind": "merge_request", "project": {"path_with_namespace": "a/b"}, "object_attributes": {"iid": 5}}`, tasks.Thread{Repo: "a/b", Number: 5}},
		{"an issue of GitLab", `{"object_kind": "issue", "project": {"path_with_namespace": "a/b"}, "object_attributes": {"iid": 6}}`, tasks.Thread{Repo: "a/b", Number: 6, Issue: true}},
	} {
		e, _ := eventOf(t, tt.payload)
		if got, err := e.Thread(none); got != tt.want || err != nil {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	broken, _ := eventOf(t, "[")
	if _, err := broken.Thread(none); err == nil || !strings.Contains(err.Error(), "read the event") {
		t.Errorf("a broken event: %v", err)
	}
	ci := func(name string) string {
		return map[string]string{"CI_PROJECT_PATH": "a/b", "CI_MERGE_REQUEST_IID": "12"}[name]
	}
	without := EventOf(tasks.Options{Getenv: none}, nil)
	if got, err := without.Thread(ci); got != (tasks.Thread{Repo: "a/b", Number: 12}) || err != nil {
		t.Errorf("a pipeline of GitLab: %+v, %v", got, err)
	}
	inFork := func(name string) string {
		return map[string]string{"CI_PROJECT_PATH": "eve/b", "CI_MERGE_REQUEST_PROJECT_PATH": "a/b", "CI_MERGE_REQUEST_IID": "12"}[name]
	}
	if got, err := without.Thread(inFork); got != (tasks.Thread{Repo: "a/b", Number: 12}) || err != nil {
		t.Errorf("a pipeline of GitLab in a fork: %+v, %v", got, err)
	}
	if got, err := without.Thread(none); got != (tasks.Thread{}) || err != nil {
		t.Errorf("without an event: %+v, %v", got, err)
	}
}
