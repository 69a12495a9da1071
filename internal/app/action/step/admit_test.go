package step

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
)

// github serves the API of a repository with a writer, a reader and pull requests, and returns its address.
func github(t *testing.T) string {
	t.Helper()
	permissions := map[string]string{"ada": "admin", "max": "maintain", "wim": "write", "eve": "read"}
	pulls := map[string]string{"12": `{"full_name": "acme/api"}`, "13": `{"full_name": "eve/api"}`, "14": "null"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/acme/api/collaborators/{user}/permission", func(w http.ResponseWriter, r *http.Request) {
		switch user := r.PathValue("user"); {
		case r.Header.Get("Authorization") != "Bearer t0", r.Header.Get("Accept") != "application/vnd.github+json":
			http.Error(w, "credentials", http.StatusUnauthorized)
		case user == "broken":
			http.Error(w, "later", http.StatusBadGateway)
		case user == "moved":
			http.Redirect(w, r, "/repos/acme/api/collaborators/ada/permission", http.StatusTemporaryRedirect)
		case user == "garbled":
			fmt.Fprint(w, "<html>")
		case permissions[user] == "":
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, `{"permission": %q}`, permissions[user])
		}
	})
	mux.HandleFunc("GET /repos/acme/api/pulls/{number}", func(w http.ResponseWriter, r *http.Request) {
		if head, ok := pulls[r.PathValue("number")]; ok {
			fmt.Fprintf(w, `{"head": {"repo": %s}}`, head)
			return
		}
		http.NotFound(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// comment is the payload of a comment on an issue, or on a pull request.
func comment(actor string, pull int) string {
	of := `"number": 7`
	if pull > 0 {
		of = fmt.Sprintf(`"number": %d, "pull_request": {}`, pull)
	}
	return fmt.Sprintf(`{"issue": {%s}, "comment": {"body": "@millhand look"}, "sender": {"login": %q}, "repository": {"full_name": "acme/api"}}`, of, actor)
}

// pullRequest is the payload of a pull request from a repository.
func pullRequest(actor, from string) string {
	return fmt.Sprintf(`{"pull_request": {"head": {"repo": {"full_name": %q}}}, "sender": {"login": %q}, "repository": {"full_name": "acme/api"}}`, from, actor)
}

func TestWriteAccessDecidesWhoseEventsStartARun(t *testing.T) {
	t.Parallel()
	api := github(t)
	const skipped, refused, untrusted, admitted = "skipped", "refused", "untrusted", "admitted"
	for name, c := range map[string]struct {
		event, payload string
		inputs         map[string]string // and other variables
		want, why      string
	}{
		"an owner":                      {"issue_comment", comment("ada", 0), nil, admitted, ""},
		"a maintainer":                  {"issue_comment", comment("max", 0), nil, admitted, ""},
		"a writer":                      {"issue_comment", comment("wim", 0), nil, admitted, ""},
		"a reader":                      {"issue_comment", comment("eve", 0), nil, skipped, "does not start millhand: eve: no write access"},
		"a reader who must not":         {"issue_comment", comment("eve", 0), map[string]string{"INPUT_OUTSIDERS": "fail"}, refused, "eve: no write access"},
		"a stranger":                    {"issue_comment", comment("mal", 0), nil, skipped, "no write access: GitHub responded 404"},
		"a failing check":               {"issue_comment", comment("broken", 0), nil, refused, "check write access: GitHub responded 502"},
		"a check that is elsewhere":     {"issue_comment", comment("moved", 0), nil, refused, "GitHub responded 307"},
		"a check without a meaning":     {"issue_comment", comment("garbled", 0), nil, refused, "read GitHub's response"},
		"no token":                      {"issue_comment", comment("ada", 0), map[string]string{"GITHUB_TOKEN": ""}, refused, "GITHUB_TOKEN is not set"},
		"an invalid address":            {"issue_comment", comment("ada", 0), map[string]string{"GITHUB_API_URL": "http://[::1"}, refused, "request to GitHub: parse"},
		"no server":                     {"issue_comment", comment("ada", 0), map[string]string{"GITHUB_API_URL": "http://127.0.0.1:1"}, refused, "request to GitHub: Get"},
		"a bot":                         {"issue_comment", comment("x[bot]", 0), nil, skipped, "x[bot] is a bot that the input allow-actors does not name"},
		"a bot that must not":           {"issue_comment", comment("x[bot]", 0), map[string]string{"INPUT_OUTSIDERS": "fail"}, refused, "is a bot"},
		"a named reader":                {"issue_comment", comment("eve", 0), map[string]string{"INPUT_ALLOW_ACTORS": "eve"}, untrusted, "eve caused the event issue_comment: no write access"},
		"a named reader who is trusted": {"issue_comment", comment("eve", 0), map[string]string{"INPUT_ALLOW_ACTORS": "eve", "INPUT_UNTRUSTED": "false", "GITHUB_API_URL": "http://127.0.0.1:1"}, admitted, ""},
		"a named reader with an error":  {"issue_comment", comment("broken", 0), map[string]string{"INPUT_ALLOW_ACTORS": "broken"}, untrusted, "check write access: GitHub responded 502"},
		"a pull request of this":        {"issue_comment", comment("ada", 12), nil, admitted, ""},
		"one of a fork":                 {"issue_comment", comment("ada", 13), nil, untrusted, "pull request 13: from a fork"},
		"one of a removed fork":         {"issue_comment", comment("ada", 14), nil, untrusted, "pull request 14: from a fork"},
		"one that is not found":         {"issue_comment", comment("ada", 15), nil, untrusted, "pull request 15: check its branch: GitHub responded 404"},
		"one of a fork that is trusted": {"issue_comment", comment("ada", 13), map[string]string{"INPUT_UNTRUSTED": "false"}, admitted, ""},
		"a branch":                      {"pull_request", pullRequest("eve", "acme/api"), nil, admitted, ""},
		"a fork of a writer":            {"pull_request", pullRequest("ada", "ada/api"), nil, untrusted, "the event pull_request comes from a fork"},
		"a fork of a reader":            {"pull_request", pullRequest("eve", "eve/api"), nil, skipped, "eve: no write access"},
		"a push":                        {"push", `{"sender": {"login": "eve"}}`, map[string]string{"GITHUB_API_URL": "http://127.0.0.1:1"}, admitted, ""},
		"a phrase that is missing":      {"issue_comment", comment("ada", 0), map[string]string{"INPUT_TRIGGER_PHRASE": "/mill"}, skipped, `does not contain "/mill"`},
		"a payload without a meaning":   {"issue_comment", "{", nil, refused, "read the payload of the event issue_comment: unexpected end"},
		"no payload":                    {"issue_comment", "", nil, refused, "read the payload of the event issue_comment: open "},
		"started by hand":               {"issue_comment", "", map[string]string{"GITHUB_ACTIONS": ""}, admitted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{
				"GITHUB_ACTIONS": "true", "GITHUB_API_URL": api, "GITHUB_REPOSITORY": "acme/api", "GITHUB_TOKEN": "t0", "INPUT_PROMPT": "Look.",
				"GITHUB_EVENT_NAME": c.event, "GITHUB_EVENT_PATH": file(t, c.payload),
			}
			maps.Copy(env, c.inputs)
			s := New(world.World{Getenv: func(name string) string { return env[name] }})
			in, err := action.Read(s.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			a := s.admit(t.Context(), in)
			got, why := admitted, ""
			for verdict, reason := range map[string]string{skipped: a.skipped, refused: a.refused, untrusted: a.untrusted} {
				if reason != "" {
					got, why = verdict, reason
				}
			}
			if got != c.want || !strings.Contains(why, c.why) || c.why == "" && why != "" {
				t.Errorf("%s: %s, want %s: %s", got, why, c.want, c.why)
			}
			if outsider := c.want == skipped && !strings.Contains(c.why, "contain"); a.outsider != outsider {
				t.Errorf("is of an outsider: %t", a.outsider)
			}
		})
	}
}
