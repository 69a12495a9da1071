package action

import "testing"

func TestTrustOf(t *testing.T) {
	const repository = `"repository": {"full_name": "acme/api"}, "sender": {"login": "ann"}`
	for name, tt := range map[string]struct {
		event, payload string
		untrusted      bool
		actor          string
		pull           int
	}{
		"a push":                       {"push", `{` + repository + `}`, false, "", 0},
		"a schedule":                   {"schedule", `{}`, false, "", 0},
		"a pull request of a branch":   {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "acme/api"}}}}`, false, "", 0},
		"a pull request of a fork":     {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, "", 0},
		"one whose target is checked":  {"pull_request_target", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, "", 0},
		"one whose fork was deleted":   {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": null}}}`, true, "", 0},
		"one without a repository":     {"pull_request", `{"pull_request": {"head": {"repo": {"full_name": ""}}}}`, true, "", 0},
		"a review of a fork":           {"pull_request_review", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, "", 0},
		"a review of a branch":         {"pull_request_review", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "acme/api"}}}}`, false, "ann", 0},
		"a workflow of a fork":         {"workflow_run", `{` + repository + `, "workflow_run": {"head_repository": {"full_name": "eve/api"}}}`, true, "", 0},
		"a workflow of a branch":       {"workflow_run", `{` + repository + `, "workflow_run": {"event": "push", "head_repository": {"full_name": "acme/api"}}}`, false, "", 0},
		"a workflow of a comment":      {"workflow_run", `{` + repository + `, "workflow_run": {"event": "issue_comment", "triggering_actor": {"login": "eve"}, "head_repository": {"full_name": "acme/api"}}}`, false, "eve", 0},
		"a workflow of nobody":         {"workflow_run", `{` + repository + `, "workflow_run": {"event": "issue_comment", "head_repository": {"full_name": "acme/api"}}}`, true, "", 0},
		"a comment":                    {"issue_comment", `{` + repository + `, "issue": {"number": 7}}`, false, "ann", 0},
		"a comment on a pull request":  {"issue_comment", `{` + repository + `, "issue": {"number": 7, "pull_request": {}}}`, false, "ann", 7},
		"an event that nobody knows":   {"sneeze", `{` + repository + `}`, false, "ann", 0},
		"an event of nobody":           {"issues", `{"repository": {"full_name": "acme/api"}}`, true, "", 0},
		"a payload that can't be read": {"push", `{`, true, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := TrustOf(tt.event, []byte(tt.payload))
			if (got.Untrusted != "") != tt.untrusted || got.Actor != tt.actor || got.PullRequest != tt.pull {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func FuzzTrustOf(f *testing.F) {
	f.Add("pull_request", `{"pull_request": {"head": {"repo": {"full_name": "eve/api"}}}, "repository": {"full_name": "acme/api"}}`)
	f.Fuzz(func(t *testing.T, name, payload string) {
		if got := TrustOf(name, []byte(payload)); got.Untrusted != "" && got.PullRequest != 0 {
			t.Errorf("got %+v", got)
		}
	})
}
