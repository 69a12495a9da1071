package ci

import "strings"

// ForeignFiles describes the files of the current repository if the CI has checked out a pull request, as its
// environment describes that; "" if it has not.
func ForeignFiles(getenv func(string) string) string {
	for _, name := range []string{"GITHUB_EVENT_NAME", "CI_PIPELINE_SOURCE", "BUILD_REASON"} {
		event := strings.ReplaceAll(strings.ToLower(getenv(name)), "_", "")
		if strings.Contains(event, "pullrequest") || strings.Contains(event, "mergerequest") {
			return "files of the pull request that the CI has checked out"
		}
	}
	for _, name := range []string{"CI_MERGE_REQUEST_IID", "BUILDKITE_PULL_REQUEST", "CIRCLE_PULL_REQUEST", "CHANGE_ID"} {
		if v := getenv(name); v != "" && v != "false" {
			return "files of the pull request that the CI has checked out"
		}
	}
	if strings.HasPrefix(getenv("GITHUB_REF"), "refs/pull/") {
		return "files of the pull request that the CI has checked out"
	}
	return ""
}
