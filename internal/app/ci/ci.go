// Package ci reads what the environment of a CI job describes: who started the job, and whether the files that it checked
// out are those of a pull request. It proves nothing, because every user can set these variables.
package ci

import (
	"encoding/hex"
	"net/url"
	"os"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// ciSystem lists the variables of a CI system that describe a job.
type ciSystem struct {
	name    string // in reports
	present string // variable that is set only there
	actors  string // variables with the user; the first that is set counts
	event   string // variable with the trigger; "" for none
	url     string // template of the address of the run, in the syntax of [os.Expand]
	commit  string // variable
}

func ciSystems() []ciSystem {
	return []ciSystem{
		{"gitea", "GITEA_ACTIONS", "GITHUB_TRIGGERING_ACTOR GITHUB_ACTOR", "GITHUB_EVENT_NAME", "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID", "GITHUB_SHA"},
		{"github", "GITHUB_ACTIONS", "GITHUB_TRIGGERING_ACTOR GITHUB_ACTOR", "GITHUB_EVENT_NAME", "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID", "GITHUB_SHA"},
		{"gitlab", "GITLAB_CI", "GITLAB_USER_LOGIN", "CI_PIPELINE_SOURCE", "$CI_PIPELINE_URL", "CI_COMMIT_SHA"},
		{"buildkite", "BUILDKITE", "BUILDKITE_BUILD_CREATOR BUILDKITE_BUILD_AUTHOR", "BUILDKITE_SOURCE", "$BUILDKITE_BUILD_URL", "BUILDKITE_COMMIT"},
		{"circleci", "CIRCLECI", "CIRCLE_USERNAME", "", "$CIRCLE_BUILD_URL", "CIRCLE_SHA1"},
		{"azure", "TF_BUILD", "BUILD_REQUESTEDFOR", "BUILD_REASON", "$SYSTEM_COLLECTIONURI$SYSTEM_TEAMPROJECT/_build/results?buildId=$BUILD_BUILDID", "BUILD_SOURCEVERSION"},
		{"jenkins", "JENKINS_URL", "BUILD_USER_ID", "BUILD_CAUSE", "$BUILD_URL", "GIT_COMMIT"},
	}
}

// maxStarted is the maximum length of a text of [event.StartedBy], in characters.
const maxStarted = 200

// Present reports whether a CI job runs this process. Most systems set CI, also those that reports don't name.
func Present(getenv func(string) string) bool {
	ci := strings.ToLower(getenv("CI"))
	return StartedBy(getenv) != nil || ci != "" && ci != "false" && ci != "0"
}

// StartedBy returns the CI job that started the run, as the environment describes it; nil
// outside of CI.
func StartedBy(getenv func(string) string) *event.StartedBy {
	for _, ci := range ciSystems() {
		if v := getenv(ci.present); v == "" || strings.EqualFold(v, "false") {
			continue
		}
		s := &event.StartedBy{CI: ci.name, RunURL: runURL(ci.url, getenv), Commit: commitID(getenv(ci.commit))}
		for name := range strings.FieldsSeq(ci.actors) {
			if s.Actor == "" {
				s.Actor = printable.Line(getenv(name), maxStarted)
			}
		}
		if ci.event != "" {
			s.Event = printable.Line(getenv(ci.event), maxStarted)
		}
		return s
	}
	return nil
}

// runURL returns the address of a run, "" if it is invalid or a variable of it is missing.
func runURL(template string, getenv func(string) string) string {
	complete := true
	u, err := url.Parse(os.Expand(template, func(name string) string {
		complete = complete && getenv(name) != ""
		return getenv(name)
	}))
	if !complete || err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	u.User = nil
	if text := u.String(); len(text) <= 2*maxStarted {
		return text
	}
	return ""
}

// commitID returns the id of a commit, "" for another text.
func commitID(s string) string {
	if id, err := hex.DecodeString(s); err != nil || len(id) != 20 && len(id) != 32 {
		return ""
	}
	return s
}
