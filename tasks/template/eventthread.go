package template

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/millhand/millhand/tasks"
)

// errNoEvent is the error of an event that does not exist.
var errNoEvent = errors.New("no event: GITHUB_EVENT_PATH is not set")

// Thread returns the issue or pull request that the event is about; the zero value for none, and without an event. Of a
// pipeline of GitLab for a merge request, the variables of the CI describe it.
func (e *Event) Thread(getenv func(string) string) (tasks.Thread, error) {
	values, err := e.read()
	if errors.Is(err, errNoEvent) {
		// The pipeline of a fork's merge request runs in the fork, where another one may have the same number.
		t := tasks.Thread{Repo: cmp.Or(getenv("CI_MERGE_REQUEST_PROJECT_PATH"), getenv("CI_PROJECT_PATH")), Number: positive(getenv("CI_MERGE_REQUEST_IID"))}
		return known(t), nil
	}
	if err != nil {
		return tasks.Thread{}, err
	}
	first := func(paths ...string) string {
		for _, path := range paths {
			if text, _, err := e.value(path); err == nil && text != "" {
				return text
			}
		}
		return ""
	}
	t := tasks.Thread{Repo: first("repository.full_name", "project.path_with_namespace")}
	if t.Number = positive(first("pull_request.number", "merge_request.iid")); t.Number == 0 {
		t.Number = positive(first("issue.number", "issue.iid"))
		issue, _ := values["issue"].(map[string]any)
		t.Issue = issue["pull_request"] == nil
	}
	if kind := first("object_kind"); t.Number == 0 && (kind == "issue" || kind == "merge_request") {
		t.Number, t.Issue = positive(first("object_attributes.iid")), kind == "issue"
	}
	return known(t), nil
}

// known returns a thread if it is complete.
func known(t tasks.Thread) tasks.Thread {
	if t.Number == 0 || t.Repo == "" {
		return tasks.Thread{}
	}
	return t
}

// positive returns a number from 1; 0 for another text.
func positive(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}
