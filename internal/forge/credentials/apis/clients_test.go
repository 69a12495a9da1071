package apis

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/tasks"
)

func TestTheRepositoryOfAPullRequestIsInItsURL(t *testing.T) {
	server, pushed := &url.URL{Scheme: "https", Host: "git.example.com"}, forge.Path{Owner: "bot", Name: "api"}
	acme := forge.Path{Owner: "acme", Name: "api"}
	for address, want := range map[string]forge.Path{
		"https://git.example.com/acme/api/pull/7":                 acme,
		"https://Git.example.com/acme/api/pulls/7":                acme,
		"https://git.example.com:8443/a/b/api/-/merge_requests/7": {Owner: "a/b", Name: "api"},
		"https://git.example.com/acme/pull/pull/7":                {Owner: "acme", Name: "pull"},
		"https://evil.example.com/acme/api/pull/7":                pushed,
		"https://git.example.com/api/pull/7":                      pushed,
		"https://git.example.com/acme/api/issues/7":               pushed,
		"::": pushed,
	} {
		if got := PullPath(address, server, pushed); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

func TestTheServerOfARemoteHasItsAPI(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example.com/acme/api.git":         "https://git.example.com acme/api",
		"http://127.0.0.1:3000/acme/api":               "http://127.0.0.1:3000 acme/api",
		"ssh://git@git.example.com:2222/group/sub/api": "https://git.example.com group/sub/api",
		"git@git.example.com:acme/api.git":             "https://git.example.com acme/api",
		"file:///srv/git/api.git":                      "error: the remote is not on a forge",
		"https://git.example.com/api":                  "error: api is not OWNER/NAME on git.example.com",
	} {
		server, path, err := Server(address)
		got := fmt.Sprintf("%v %s", server, path)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestTheTokenOfAWorkflowStartsNoWorkflows(t *testing.T) {
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "of-the-workflow"}
	jobs := []tasks.Job{{Publish: tasks.PublishPush}, {Publish: tasks.PublishPR}}
	for token, want := range map[string]int{"of-the-workflow": 1, "of-an-app": 0, "": 0} {
		c := &Clients{Environment: Environment{Getenv: func(name string) string { return env[name] }}}
		if c.note(tasks.GitHub, token); len(c.Warnings(jobs)) != want {
			t.Errorf("%q: %q", token, c.Warnings(jobs))
		}
		if c.note(tasks.GitLab, token); len(c.Warnings(jobs)) != want {
			t.Errorf("%q, of GitLab: %q", token, c.Warnings(jobs))
		}
	}
	c := &Clients{workflow: true}
	for mode, want := range map[tasks.PublishMode]string{tasks.PublishPR: "pull requests are created", tasks.PublishPush: "commits are pushed", tasks.PublishNone: "", tasks.PublishPatch: ""} {
		if got := strings.Join(c.Warnings([]tasks.Job{{Publish: mode}}), "\n"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", mode, got)
		}
	}
}
