package view

import (
	"fmt"
	"strings"
	"time"
)

// fold returns the output of a command below a title that the log of a CI folds. No fold is in another one, which
// GitHub does not support, and its lines are written in one operation, so that none of other jobs are between them.
// number is unique in the run.
type fold func(at time.Time, number int, title, lines string) string

// foldOf returns the fold of the CI that the log of a format is for, nil for none.
func foldOf(format string, getenv func(string) string) fold {
	switch {
	case format == "github" || format == "auto" && getenv("GITHUB_ACTIONS") == "true":
		return githubFold
	case format != "auto":
		return nil
	case getenv("GITLAB_CI") == "true":
		return gitlabFold
	case strings.EqualFold(getenv("TF_BUILD"), "true"):
		return azureFold
	case getenv("BUILDKITE") == "true":
		return buildkiteFold
	}
	return nil
}

func githubFold(_ time.Time, _ int, title, lines string) string {
	return "::group::" + strings.ReplaceAll(title, "%", "%25") + "\n" + lines + "::endgroup::\n"
}

func gitlabFold(at time.Time, number int, title, lines string) string {
	name := fmt.Sprintf("%d:millhand_%d_%d", at.Unix(), at.UnixMilli(), number)
	return "\x1b[0Ksection_start:" + name + "[collapsed=true]\r\x1b[0K" + title + "\n" + lines + "\x1b[0Ksection_end:" + name + "\r\x1b[0K\n"
}

func azureFold(_ time.Time, _ int, title, lines string) string {
	return "##[group]" + title + "\n" + lines + "##[endgroup]\n"
}

// buildkiteFold starts an open group after the fold, because a group lasts until the next one.
func buildkiteFold(_ time.Time, _ int, title, lines string) string {
	return "--- " + title + "\n" + lines + "+++ millhand\n"
}
