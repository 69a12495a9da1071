package workflows

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// people answers as GitHub's REST API does: ann has write access, bob has not;
// pull request 7 comes from a fork.
func people(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	may := func(permission string) http.HandlerFunc {
		return func(out http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer token-of-the-workflow" {
				http.Error(out, "who are you?", http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(out, `{"permission": %q}`, permission)
		}
	}
	mux.HandleFunc("/repos/acme/api/collaborators/ann/permission", may("write"))
	mux.HandleFunc("/repos/acme/api/collaborators/bob/permission", may("read"))
	for number, owner := range map[int]string{6: "acme", 7: "eve"} {
		mux.HandleFunc(fmt.Sprintf("/repos/acme/api/pulls/%d", number), func(out http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(out, `{"head": {"repo": {"full_name": "%s/api"}}}`, owner)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestActionTreatsForeignManifestsAsUntrusted(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	api := people(t)
	event := func(sender, more string) string {
		return fmt.Sprintf(`{"repository": {"full_name": "acme/api"}, "sender": {"login": %q}%s}`, sender, more)
	}
	pull := func(owner string) string {
		return fmt.Sprintf(`, "pull_request": {"head": {"repo": {"full_name": "%s/api"}}}`, owner)
	}
	for name, tt := range map[string]struct {
		actors                       string // the input allow-actors
		input, event, payload, token string
		untrusted                    string // why; "" if they are trusted
	}{
		"a fork":                         {"*", "", "pull_request", event("eve", pull("eve")), "", "the event pull_request comes from a fork"},
		"a fork, whose manifest is ours": {"*", "false", "pull_request", event("eve", pull("eve")), "", ""},
		"a branch":                       {"", "auto", "pull_request", event("ann", pull("acme")), "", ""},
		"a dispatch":                     {"", "", "workflow_dispatch", event("ann", ""), "", ""},
		"a dispatch that is not trusted": {"", "true", "workflow_dispatch", event("ann", ""), "", "-"},
		"a comment of somebody with write access": {"", "", "issue_comment", event("ann", `, "issue": {"number": 5}`), "token-of-the-workflow", ""},
		"a comment of somebody without":           {"bob eve", "", "issue_comment", event("bob", `, "issue": {"number": 5}`), "token-of-the-workflow", "bob caused the event issue_comment: no write access"},
		"a comment of somebody unknown":           {"bob eve", "", "issue_comment", event("eve", `, "issue": {"number": 5}`), "token-of-the-workflow", "GitHub responded 404"},
		"a comment, and nobody to ask":            {"Ann", "", "issue_comment", event("ann", `, "issue": {"number": 5}`), "", "GITHUB_TOKEN"},
		"a comment on a pull request":             {"", "", "issue_comment", event("ann", `, "issue": {"number": 6, "pull_request": {}}`), "token-of-the-workflow", ""},
		"a comment on a pull request of a fork":   {"", "", "issue_comment", event("ann", `, "issue": {"number": 7, "pull_request": {}}`), "token-of-the-workflow", "pull request 7: from a fork"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The manifest asks for more than a stranger gets.
			files := hostileFiles("true")
			files["m.yaml"] = strings.Replace(files["m.yaml"], "  - id: change\n", "  - id: change\n    if: env.HOME != ''\n", 1)
			w := newWorkflow(t, files)
			w.event = tt.payload
			w.with["manifest"], w.with["untrusted"], w.with["allow-actors"] = "m.yaml", tt.input, tt.actors
			if tt.input == "" {
				delete(w.with, "untrusted")
			}
			maps.Copy(w.env, map[string]string{"GITHUB_EVENT_NAME": tt.event, "GITHUB_API_URL": api, "GITHUB_REPOSITORY": "acme/api", "GITHUB_TOKEN": tt.token})
			r := w.run(t)
			refused := r.code == 2 && strings.Contains(r.log, "(--untrusted)")
			switch {
			case tt.untrusted == "" && (refused || r.code != 0):
				t.Errorf("exit code %d\n%s", r.code, r.log)
			case tt.untrusted != "" && !refused:
				t.Errorf("exit code %d, not refused\n%s", r.code, r.log)
			case tt.untrusted != "" && tt.untrusted != "-" && !strings.Contains(r.log, tt.untrusted):
				t.Errorf("the log doesn't say %q\n%s", tt.untrusted, r.log)
			}
		})
	}
}

// TestActionRefusesActors checks that an event of somebody who may not start runs runs nothing,
// whatever the other inputs are.
func TestActionRefusesActors(t *testing.T) {
	api := people(t)
	comment := func(sender, body string) string {
		return fmt.Sprintf(`{"repository": {"full_name": "acme/api"}, "sender": {"login": %q}, "issue": {"number": 5}, "comment": {"body": %q}}`, sender, body)
	}
	fork := `{"repository": {"full_name": "acme/api"}, "sender": {"login": "eve"}, "pull_request": {"head": {"repo": {"full_name": "eve/api"}}}}`
	labeled := func(sender, label string) string {
		return fmt.Sprintf(`{"repository": {"full_name": "acme/api"}, "sender": {"login": %q}, "action": "labeled", "label": {"name": %q}, "issue": {"number": 5, "title": "x"}}`, sender, label)
	}
	const token = "token-of-the-workflow"
	for name, tt := range map[string]struct {
		with                  map[string]string
		event, payload, token string
		code                  int
		conclusion, log       string
	}{
		"no write access":            {nil, "issue_comment", comment("bob", "x"), token, 0, "skipped", "::notice title=millhand::nothing was run: the event issue_comment does not start millhand: bob: no write access"},
		"no write access, to fail":   {map[string]string{"outsiders": "fail"}, "issue_comment", comment("bob", "x"), token, 3, "failure", "bob: no write access"},
		"a label":                    {map[string]string{"trigger-label": "fix"}, "issues", labeled("ann", "fix"), token, 0, "success", ""},
		"another label":              {map[string]string{"trigger-label": "fix"}, "issues", labeled("ann", "bug"), token, 0, "skipped", `is about the label "bug"`},
		"a label by eve":             {map[string]string{"trigger-label": "fix"}, "issues", labeled("eve", "fix"), token, 0, "skipped", "no write access"},
		"nobody to ask":              {map[string]string{"untrusted": "false"}, "issue_comment", comment("ann", "x"), "", 3, "failure", "GITHUB_TOKEN"},
		"not named":                  {map[string]string{"allow-actors": "bob"}, "issue_comment", comment("ann", "x"), token, 0, "skipped", "does not name ann"},
		"a bot":                      {map[string]string{"allow-actors": "*"}, "issue_comment", comment("evil[bot]", "x"), token, 0, "skipped", "is a bot"},
		"a hostile login":            {nil, "issue_comment", comment("eve\n::error title=owned::x\u2028\r::stop-commands::y", "x"), token, 0, "skipped", "GitHub responded 404"},
		"a login that climbs":        {nil, "issue_comment", comment("../pulls/6?x=", "x"), token, 0, "skipped", "GitHub responded 404"},
		"a huge login":               {nil, "issue_comment", comment(strings.Repeat("x", 1<<20), "x"), token, 3, "failure", "a login has 1048576 bytes"},
		"a hostile label":            {map[string]string{"trigger-label": "fix"}, "issues", labeled("ann", "fix\n::error title=owned::x"), token, 0, "skipped", "is about the label"},
		"a fork of a hostile name":   {nil, "pull_request", `{"repository": {"full_name": "acme/api"}, "sender": {"login": "eve"}, "pull_request": {"head": {"ref": "x\n::error title=owned::y", "repo": {"full_name": "eve/x\n::error title=owned::y"}}}}`, token, 0, "skipped", "nothing was run"},
		"a fork":                     {map[string]string{"untrusted": "true"}, "pull_request_target", fork, "", 3, "failure", "GITHUB_TOKEN"},
		"an invalid payload":         {nil, "issue_comment", "{", token, 3, "failure", "read the payload"},
		"an invalid input":           {map[string]string{"allow-actors": "*[bot]"}, "issue_comment", comment("ann", "x"), token, 2, "failure", "allow-actors"},
		"not addressed":              {map[string]string{"trigger-phrase": "@millhand"}, "issue_comment", comment("eve", "> @millhand\nno"), "", 0, "skipped", "does not contain"},
		"addressed by eve":           {map[string]string{"trigger-phrase": "@millhand"}, "issue_comment", comment("eve", "@millhand go"), token, 0, "skipped", "GitHub responded 404"},
		"addressed by ann":           {map[string]string{"trigger-phrase": "@millhand"}, "issue_comment", comment("ann", "@millhand go"), token, 0, "success", ""},
		"a dispatch needs no phrase": {map[string]string{"trigger-phrase": "@millhand"}, "workflow_dispatch", `{"sender": {"login": "ann"}}`, "", 0, "success", ""},
		"a bot by its name":          {map[string]string{"allow-actors": "write fix[bot]", "untrusted": "false"}, "issue_comment", comment("fix[bot]", "x"), token, 0, "success", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t, map[string]string{"m.yaml": plainManifest, "turns.yaml": "version: 1\nturns: [{text: Done.}]\n"})
			w.event, w.with["manifest"] = tt.payload, "m.yaml"
			maps.Copy(w.with, tt.with)
			maps.Copy(w.env, map[string]string{"GITHUB_EVENT_NAME": tt.event, "GITHUB_API_URL": api, "GITHUB_REPOSITORY": "acme/api", "GITHUB_TOKEN": tt.token})
			r := w.run(t)
			if r.code != tt.code || r.outputs["conclusion"] != tt.conclusion || !strings.Contains(r.log, tt.log) {
				t.Errorf("exit code %d, conclusion %q, want %d, %q and %q in the log\n%s", r.code, r.outputs["conclusion"], tt.code, tt.conclusion, tt.log, r.log)
			}
			if strings.Contains(r.log, "\n::error title=owned") || strings.Contains(r.log, "\r::") || strings.Contains(r.summary, "\n::") || len(r.log)+len(r.summary) > 64<<10 {
				t.Errorf("a text of the event is a command, or %d bytes long\n%.2000s\n%.2000s", len(r.log)+len(r.summary), r.log, r.summary)
			}
			if tt.conclusion != "success" && (!strings.Contains(r.summary, "nothing was run") || strings.Contains(r.summary, token)) {
				t.Errorf("the step summary is %q", r.summary)
			}
			if ran := r.outputs["run-id"] != ""; ran != (tt.conclusion == "success") {
				t.Errorf("a run: %t", ran)
			}
		})
	}
}

const plainManifest = `version: 1
model: script:turns.yaml
profile: readonly
tasks: [{id: look, prompt: Look., commit: false}]
`
