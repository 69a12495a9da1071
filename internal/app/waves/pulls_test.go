package waves

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/waves/rollout"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

const base = "0000000000000000000000000000000000000000"

// onForge is a plan of a rollout, with a job for each branch, and the forge with its pull requests. Each pull request has one commit,
// whose message is that of its branch.
func onForge(t *testing.T, messages func(plan *tasks.Plan) map[string]string, pulls ...forgetest.Pull) (w world.World, plan *tasks.Plan) {
	t.Helper()
	heads := map[string]string{}
	forge := &forgetest.Server{Kind: "gitea", Token: "good-token", User: "mill", Resolve: func(_, branch string) string { return heads[branch] }}
	forge.Add(forgetest.Repo{Owner: "acme", Name: "web"})
	server := httptest.NewServer(forge)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	plan = &tasks.Plan{
		Name:    "fleet",
		Rollout: &tasks.Rollout{Advance: tasks.Advance{Checks: 50}, PerHour: 1, CIMinutes: 9},
		Forges:  []tasks.Forge{{Host: at.Host, Kind: tasks.Gitea, TokenEnv: "FORGE_TOKEN"}},
	}
	for i, p := range pulls {
		p.Number, p.Repo, p.Head, p.Base = int64(i+1), "acme/web", "acme/web", "main"
		p.SHA = strings.Repeat(fmt.Sprint(i+1), 40)
		heads[p.Branch] = p.SHA
		forge.AddPull(p)
		plan.Jobs = append(plan.Jobs, tasks.Job{
			ID: p.Branch, Prompt: "Add a notice.", Repo: tasks.Repo{Kind: tasks.RepoURL, URL: server.URL + "/acme/web.git"},
			Pull: &tasks.PullRequest{}, Commit: &tasks.Commit{Branch: p.Branch},
		})
	}
	texts := messages(plan)
	forge.Message = func(_, sha string) (message, parent string) {
		for branch, head := range heads {
			if head == sha {
				return texts[branch], base
			}
		}
		return "", ""
	}
	w = world.World{
		Err: &bytes.Buffer{}, Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Getenv: func(name string) string { return map[string]string{"FORGE_TOKEN": "good-token"}[name] },
	}
	return w, plan
}

func TestPullRequestsOfARolloutAreThoseOfItsJobs(t *testing.T) {
	own := func(plan *tasks.Plan, j tasks.Job, more ...string) string {
		lines := append([]string{trailers.Job.Of(j.ID), trailers.Rollout.Of(plan.Name), trailers.Task.Of(landing.TaskHash(j, base))}, more...)
		return "Add a notice\n\n" + strings.Join(lines, "\n") + "\n"
	}
	w, plan := onForge(t, func(plan *tasks.Plan) map[string]string {
		j := plan.Jobs
		return map[string]string{
			"open": own(plan, j[0]), "merged": own(plan, j[1]), "theirs": "Their change\n", "closed-theirs": "Their change\n",
			"unfinished": own(plan, j[4], trailers.Outcome.Of("limit")), "of-a-run": "Add a notice\n\n" + trailers.Job.Of(j[5].ID) + "\n",
		}
	}, forgetest.Pull{Branch: "open", State: "open", Checks: "success", Minutes: 3}, forgetest.Pull{Branch: "merged", State: "merged"}, forgetest.Pull{Branch: "theirs", State: "open"},
		forgetest.Pull{Branch: "closed-theirs", State: "closed"}, forgetest.Pull{Branch: "unfinished", State: "open"}, forgetest.Pull{Branch: "of-a-run", State: "open"})
	plan.Jobs = append(plan.Jobs, tasks.Job{ID: "no-pull", Commit: &tasks.Commit{Branch: "x"}})
	found, err := pullRequests(t.Context(), w, plan)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	want := map[string]rollout.Pull{
		"open":   {State: "open", Checks: "passed", Created: created, CI: 3 * time.Minute, SameTask: true},
		"merged": {State: "merged", Created: created, SameTask: true},
		"theirs": {State: "open", Created: created, Foreign: true},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A forge that refuses the token ends the run before anything is paid for.
func TestRolloutNeedsItsPullRequests(t *testing.T) {
	w, plan := onForge(t, func(*tasks.Plan) map[string]string { return nil }, forgetest.Pull{Branch: "open", State: "open"})
	w.Getenv = func(string) string { return "bad-token" }
	if _, err := pullRequests(t.Context(), w, plan); fault.ExitOf(err) == event.ExitOK || !strings.Contains(err.Error(), "find the pull request of job open") || strings.Contains(err.Error(), "bad-token") {
		t.Errorf("%v", err)
	}
}

func TestOnlyRemotesThatArePushedToAreAsked(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1")
	s.Commit()
	w := world.World{Getenv: func(string) string { return "" }, Now: time.Now}
	own := tasks.Job{Repo: tasks.Repo{Kind: tasks.RepoPath, Dir: s.Root, Name: "own"}}
	if _, err := remoteOf(w, own); !errors.Is(err, remote.ErrNoRemote) {
		t.Errorf("a repository without origin: %v", err)
	}
	s.Run("remote", "add", "origin", "https://example.org/a/b.git")
	for want, j := range map[string]tasks.Job{
		"https://example.org/a/b.git": own,
		"https://example.org/c.git":   {Repo: tasks.Repo{Kind: tasks.RepoURL, URL: "https://example.org/c.git"}},
		"":                            {Repo: tasks.Repo{Kind: tasks.RepoCopy, Dir: s.Root}},
	} {
		got, err := remoteOf(w, j)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	own.Repo.Dir = t.TempDir()
	if _, err := remoteOf(w, own); err == nil || errors.Is(err, remote.ErrNoRemote) || !strings.HasPrefix(err.Error(), "own: ") {
		t.Errorf("no repository: %v", err)
	}
}
