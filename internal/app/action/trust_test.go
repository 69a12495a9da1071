package action

import "testing"

func TestTrustOf(t *testing.T) {
	const repository = `"repository": {"full_name": "acme/api"}, "sender": {"login": "ann"}`
	for name, tt := range map[string]struct {
		event, payload string
		untrusted      bool
		writer         bool
		actor          string
		pull           int
	}{
		"a push":                      {"push", `{` + repository + `}`, false, true, "ann", 0},
		"a schedule":                  {"schedule", `{}`, false, true, "", 0},
		"a pull request of a branch":  {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "acme/api"}}}}`, false, true, "ann", 0},
		"a pull request of a fork":    {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, false, "ann", 0},
		"one whose target is checked": {"pull_request_target", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, false, "ann", 0},
		"one whose fork was deleted":  {"pull_request", `{` + repository + `, "pull_request": {"head": {"repo": null}}}`, true, false, "ann", 0},
		"one without a repository":    {"pull_request", `{"pull_request": {"head": {"repo": {"full_name": ""}}}}`, true, false, "", 0},
		"a review of a fork":          {"pull_request_review", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`, true, false, "ann", 0},
		"a review of a branch":        {"pull_request_review", `{` + repository + `, "pull_request": {"head": {"repo": {"full_name": "acme/api"}}}}`, false, false, "ann", 0},
		"a workflow of a fork":        {"workflow_run", `{` + repository + `, "workflow_run": {"head_repository": {"full_name": "eve/api"}}}`, true, false, "", 0},
		"a workflow of a branch":      {"workflow_run", `{` + repository + `, "workflow_run": {"event": "push", "head_repository": {"full_name": "acme/api"}}}`, false, true, "", 0},
		"a workflow of a comment":     {"workflow_run", `{` + repository + `, "workflow_run": {"event": "issue_comment", "triggering_actor": {"login": "eve"}, "head_repository": {"full_name": "acme/api"}}}`, false, false, "eve", 0},
		"one that was run again":      {"workflow_run", `{` + repository + `, "workflow_run": {"event": "issue_comment", "actor": {"login": "eve"}, "triggering_actor": {"login": "ann"}, "head_repository": {"full_name": "acme/api"}}}`, false, false, "eve", 0},
		"a workflow of nobody":        {"workflow_run", `{` + repository + `, "workflow_run": {"event": "issue_comment", "head_repository": {"full_name": "acme/api"}}}`, false, false, "", 0},
		"a comment":                   {"issue_comment", `{` + repository + `, "issue": {"number": 7}}`, false, false, "ann", 0},
		"a comment on a pull request": {"issue_comment", `{` + repository + `, "issue": {"number": 7, "pull_request": {}}}`, false, false, "ann", 7},
		"an event that nobody knows":  {"sneeze", `{` + repository + `}`, false, false, "ann", 0},
		"an event of nobody":          {"issues", `{"repository": {"full_name": "acme/api"}}`, false, false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := TrustOf(tt.event, []byte(tt.payload))
			if err != nil || (got.Untrusted != "") != tt.untrusted || got.Writer != tt.writer || got.Actor != tt.actor || got.PullRequest != tt.pull {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if got, err := TrustOf("push", []byte("{")); err == nil || got.Writer {
		t.Errorf("an invalid payload: %+v, %v", got, err)
	}
}

func TestOnlyWritersAndNamedActorsAreAdmitted(t *testing.T) {
	ann, bot := Trust{Actor: "Ann"}, Trust{Actor: "dependabot[bot]", Bot: true}
	writer := func(t Trust) Trust { t.Writer = true; return t }
	for _, tt := range []struct {
		input string
		trust Trust
		want  Admission
	}{
		{"", ann, IfWritten},
		{"", writer(ann), Admitted},
		{"", bot, Refused},
		{"", writer(bot), Admitted}, // it may push anyway
		{"", Trust{}, Refused},
		{"", writer(Trust{}), Admitted},
		{"write", bot, Refused},
		{"write", writer(bot), Refused},
		{"write dependabot[bot]", bot, Admitted},
		{"write,ann", ann, Admitted},
		{"bob\nann", ann, Admitted},
		{"bob", ann, Refused},
		{"bob", writer(ann), Refused},
		{"bob", writer(Trust{}), Admitted}, // a schedule
		{"*", ann, Admitted},
		{"*", bot, Refused},
		{"*", Trust{}, Refused},
	} {
		a, err := readActors(tt.input)
		if err != nil {
			t.Fatal(err)
		}
		if got, reason := a.Admits(tt.trust); got != tt.want || (reason != "") != (got == Refused) {
			t.Errorf("%q, %+v: %d %q, want %d", tt.input, tt.trust, got, reason, tt.want)
		}
	}
	for _, input := range []string{"*[bot]", "ann!", "@ann", "-x", "a/b"} {
		if _, err := readActors(input); err == nil {
			t.Errorf("%q is accepted", input)
		}
	}
}

func TestAPhraseTriggersOnlyWhereItWasWritten(t *testing.T) {
	for _, tt := range []struct {
		payload string
		want    bool
	}{
		{`{"comment": {"body": "Please, @MillHand: fix it"}, "issue": {"title": "x"}}`, true},
		{`{"comment": {"body": "no"}, "issue": {"title": "@millhand"}}`, false},
		{`{"comment": {"body": "> @millhand fix\n\nThanks"}}`, false},
		{`{"comment": {"body": "ann@millhand.dev"}}`, false},
		{`{"comment": {"body": "@millhand-bot"}}`, false},
		{`{"comment": {"body": "@millhand."}}`, true},
		{`{"review": {"body": null}, "pull_request": {"body": "@millhand"}}`, false},
		{`{"issue": {"title": "Broken", "body": "see\n@millhand please"}}`, true},
		{`{"pull_request": {"title": "x", "body": null}}`, false},
		{`{"discussion": {"title": "@millhand"}}`, true},
		{`{"ref": "refs/heads/main"}`, true},
	} {
		if got := (Trigger{Phrase: "@millhand"}).Missing("x", []byte(tt.payload)) == ""; got != tt.want {
			t.Errorf("%s: %t", tt.payload, got)
		}
	}
}

func TestTriggersOfLabelsAndAssignees(t *testing.T) {
	const labeled, assigned = `{"action": "labeled", "label": {"name": "Fix-it"}, "issue": {"title": "@millhand"}}`, `{"action": "assigned", "assignee": {"login": "Robot"}, "pull_request": {"title": "x"}}`
	for _, tt := range []struct {
		trigger Trigger
		payload string
		want    string
	}{
		{Trigger{}, labeled, ""},
		{Trigger{Label: "fix-it"}, labeled, ""},
		{Trigger{Label: "other"}, labeled, `the event x is about the label "Fix-it", not "other"`},
		{Trigger{Label: "other", Phrase: "@millhand"}, labeled, `the event x is about the label "Fix-it", not "other"`},
		{Trigger{Phrase: "@millhand"}, labeled, ""},
		{Trigger{Assignee: "robot"}, labeled, "the event x does not add the label or the assignee that starts a run"},
		{Trigger{Assignee: "robot"}, assigned, ""},
		{Trigger{Assignee: "ann", Label: "fix-it"}, assigned, `the event x is about the assignee "Robot", not "ann"`},
		{Trigger{Label: "fix-it"}, `{"action": "unlabeled", "label": {"name": "fix-it"}, "issue": {"title": "x"}}`, "the event x does not add the label or the assignee that starts a run"},
		{Trigger{Label: "fix-it"}, `{"action": "labeled", "issue": {"title": "x"}}`, `the event x is about the label "", not "fix-it"`},
		{Trigger{Label: "fix-it", Phrase: "@millhand"}, `{"action": "created", "comment": {"body": "@millhand go"}, "issue": {"title": "x"}}`, ""},
		{Trigger{Label: "fix-it"}, `{"ref": "refs/heads/main"}`, ""},
		{Trigger{Label: "fix-it"}, `{`, ""}, // refused by TrustOf
	} {
		if got := tt.trigger.Missing("x", []byte(tt.payload)); got != tt.want {
			t.Errorf("%+v, %s: %q, want %q", tt.trigger, tt.payload, got, tt.want)
		}
	}
}

func FuzzTrustOf(f *testing.F) {
	f.Add("pull_request", `{"pull_request": {"head": {"repo": {"full_name": "eve/api"}}}, "repository": {"full_name": "acme/api"}}`)
	f.Fuzz(func(t *testing.T, name, payload string) {
		got, err := TrustOf(name, []byte(payload))
		if got.Untrusted != "" && (got.PullRequest != 0 || got.Writer) || err != nil && got != (Trust{}) {
			t.Errorf("got %+v, %v", got, err)
		}
		Trigger{"@millhand", "fix", "bot"}.Missing(name, []byte(payload))
	})
}
