package ci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
)

func TestStartedBy(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	tests := []struct {
		name string
		env  map[string]string
		want *event.StartedBy
	}{
		{"no CI", map[string]string{"USER": "me", "GITHUB_ACTOR": "me"}, nil},
		{"not a CI", map[string]string{"CIRCLECI": "false"}, nil},
		{"GitHub", map[string]string{
			"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "first", "GITHUB_TRIGGERING_ACTOR": "again", "GITHUB_EVENT_NAME": "workflow_dispatch",
			"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "12", "GITHUB_SHA": commit,
		}, &event.StartedBy{CI: "github", Actor: "again", Event: "workflow_dispatch", RunURL: "https://github.com/o/r/actions/runs/12", Commit: commit}},
		{"Gitea", map[string]string{
			"GITEA_ACTIONS": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "me", "GITHUB_EVENT_NAME": "push",
			"GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "12",
		}, &event.StartedBy{CI: "gitea", Actor: "me", Event: "push", RunURL: "https://git.example/o/r/actions/runs/12"}},
		{"GitLab", map[string]string{
			"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "me", "CI_PIPELINE_SOURCE": "schedule", "CI_PIPELINE_URL": "https://u:p@gitlab.com/g/p/-/pipelines/1", "CI_COMMIT_SHA": commit,
		}, &event.StartedBy{CI: "gitlab", Actor: "me", Event: "schedule", RunURL: "https://gitlab.com/g/p/-/pipelines/1", Commit: commit}},
		{
			"Jenkins",
			map[string]string{"JENKINS_URL": "https://ci.example/", "BUILD_URL": "https://ci.example/job/a/1/", "GIT_COMMIT": commit},
			&event.StartedBy{CI: "jenkins", RunURL: "https://ci.example/job/a/1/", Commit: commit},
		},
		{
			"Buildkite",
			map[string]string{"BUILDKITE": "true", "BUILDKITE_BUILD_CREATOR": "Me M.", "BUILDKITE_SOURCE": "webhook", "BUILDKITE_BUILD_URL": "https://buildkite.com/o/p/builds/1", "BUILDKITE_COMMIT": "HEAD"},
			&event.StartedBy{CI: "buildkite", Actor: "Me M.", Event: "webhook", RunURL: "https://buildkite.com/o/p/builds/1"},
		},
		{
			"CircleCI",
			map[string]string{"CIRCLECI": "true", "CIRCLE_USERNAME": "me", "CIRCLE_BUILD_URL": "https://circleci.com/gh/o/r/1", "CIRCLE_SHA1": commit},
			&event.StartedBy{CI: "circleci", Actor: "me", RunURL: "https://circleci.com/gh/o/r/1", Commit: commit},
		},
		{"Azure Pipelines", map[string]string{
			"TF_BUILD": "True", "BUILD_REQUESTEDFOR": "Me", "BUILD_REASON": "Manual", "SYSTEM_COLLECTIONURI": "https://dev.azure.com/o/", "SYSTEM_TEAMPROJECT": "my project", "BUILD_BUILDID": "7", "BUILD_SOURCEVERSION": commit,
		}, &event.StartedBy{CI: "azure", Actor: "Me", Event: "Manual", RunURL: "https://dev.azure.com/o/my%20project/_build/results?buildId=7", Commit: commit}},
		{"hostile values", map[string]string{
			"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "\x1b[31m" + strings.Repeat("x", 500), "CI_PIPELINE_SOURCE": "a\n::error::b", "CI_PIPELINE_URL": "javascript:alert(1)", "CI_COMMIT_SHA": "-x",
		}, &event.StartedBy{CI: "gitlab", Actor: strings.Repeat("x", maxStarted-1) + "…", Event: "a : :error::b"}},
		{"an incomplete URL", map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r"}, &event.StartedBy{CI: "github"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, StartedBy(func(name string) string { return tt.env[name] })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
