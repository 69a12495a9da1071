package forges

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
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

func TestTheKindOfAFailureFollowsFromItsCause(t *testing.T) {
	stopped, stop := context.WithCancelCause(context.Background())
	stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	late, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("too late"))
	plain := context.Background()
	for _, tt := range []struct {
		ctx  context.Context //nolint:containedctx // an input
		err  error
		want event.Exit
	}{
		{plain, forge.ErrDenied, event.ExitAuth},
		{plain, forge.ErrLimited, event.ExitUnavailable},
		{plain, forge.ErrUnreachable, event.ExitUnavailable},
		{plain, forge.ErrIncomplete, event.ExitUnavailable},
		{plain, forge.ErrNotFound, event.ExitUsage},
		{stopped, forge.ErrDenied, event.ExitTerminate},
		{late, forge.ErrDenied, event.ExitDeadline},
	} {
		err := Failure(tt.ctx, errors.New("list repositories"), fmt.Errorf("request: %w", tt.err))
		var f fault.Error
		if !errors.As(err, &f) || f.Kind != tt.want || !strings.HasSuffix(err.Error(), "; nothing was run") {
			t.Errorf("%v: %v", tt.err, err)
		}
	}
}

func TestAHostHasOneClient(t *testing.T) {
	w := world.World{Getenv: func(string) string { return "" }}
	c := &Clients{World: w, Hosts: Hosts(w, &tasks.Plan{Forges: []tasks.Forge{{Host: "git.example.com", Kind: tasks.Gitea}}}, func(string) {}), Notify: func(string) {}}
	first, at, err := c.Open("https://git.example.com/acme/api.git")
	if err != nil || at != (forge.Path{Owner: "acme", Name: "api"}) {
		t.Fatalf("%v, %v", at, err)
	}
	if second, at, err := c.Open("git@git.example.com:acme/web.git"); second != first || at.Name != "web" || err != nil {
		t.Errorf("a second client paces its requests without the first: %v, %v", at, err)
	}
	if _, _, err := c.Open("https://other.example.com/acme/api"); err == nil || !strings.Contains(err.Error(), "forges: {other.example.com: {kind: gitea}}") {
		t.Errorf("an unknown forge: %v", err)
	}
	if got := c.Warnings([]tasks.Job{{Publish: tasks.PublishPR}}); got != nil {
		t.Errorf("%q", got)
	}
}

func TestTheTokenOfAWorkflowStartsNoWorkflows(t *testing.T) {
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "of-the-workflow"}
	jobs := []tasks.Job{{Publish: tasks.PublishPush}, {Publish: tasks.PublishPR}}
	for token, want := range map[string]int{"of-the-workflow": 1, "of-an-app": 0, "": 0} {
		c := &Clients{World: world.World{Getenv: func(name string) string { return env[name] }}}
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
