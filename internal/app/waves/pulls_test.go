package waves

import (
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
// whose message is that of its branch. A pull request of a fork is that of a job which publishes there.
func onForge(t *testing.T, messages func(plan *tasks.Plan) map[string]string, pulls ...forgetest.Pull) (w world.World, plan *tasks.Plan, forge *forgetest.Server) {
	t.Helper()
	heads := map[string]string{}
	forge = &forgetest.Server{Kind: "gitea", Token: "good-token", User: "mill", Resolve: func(_, branch string) string { return heads[branch] }}
	forge.Add(forgetest.Repo{Owner: "acme", Name: "web"}, forgetest.Repo{Owner: "mill", Name: "web", Parent: "acme/web"})
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
	source := map[string]string{}
	for i, p := range pulls {
		p.Number, p.Repo, p.Base = int64(i+1), "acme/web", "main"
		fork := tasks.ForkAuto
		if p.Head == "" {
			p.Head, fork = p.Repo, ""
		}
		p.SHA = strings.Repeat(fmt.Sprint(i+1), 40)
		heads[p.Branch], source[p.Branch] = p.SHA, p.Head
		forge.AddPull(p)
		if strings.HasSuffix(p.Branch, "-revert") {
			continue
		}
		if fork != "" {
			fork, _, _ = strings.Cut(p.Head, "/")
		}
		plan.Jobs = append(plan.Jobs, tasks.Job{
			ID: p.Branch, Prompt: "Add a notice.", Repo: tasks.Repo{Kind: tasks.RepoURL, URL: server.URL + "/acme/web.git"},
			Pull: &tasks.PullRequest{Fork: fork}, Commit: &tasks.Commit{Branch: p.Branch},
		})
	}
	texts := messages(plan)
	forge.Message = func(repo, sha string) (message, parent string) {
		for branch, head := range heads {
			if head == sha && source[branch] == repo {
				return texts[branch], base
			}
		}
		return "", ""
	}
	w = world.World{
		Err: t.Output(), Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Getenv: func(name string) string { return map[string]string{"FORGE_TOKEN": "good-token"}[name] },
	}
	return w, plan, forge
}

// ofJob is the message of a commit that was made for a job of a rollout.
func ofJob(plan *tasks.Plan, j tasks.Job, more ...string) string {
	lines := append([]string{trailers.Job.Of(j.ID), trailers.Rollout.Of(plan.Name), trailers.Task.Of(landing.TaskHash(j, base))}, more...)
	return "Add a notice\n\n" + strings.Join(lines, "\n") + "\n"
}

func TestPullRequestsOfARolloutAreThoseOfItsJobs(t *testing.T) {
	t.Parallel()
	w, plan, _ := onForge(t, func(plan *tasks.Plan) map[string]string {
		j := plan.Jobs
		return map[string]string{
			"open": ofJob(plan, j[0]), "merged": ofJob(plan, j[1]), "theirs": "Their change\n", "closed-theirs": "Their change\n",
			"unfinished": ofJob(plan, j[4], trailers.Outcome.Of("limit")), "of-a-run": "Add a notice\n\n" + trailers.Job.Of(j[5].ID) + "\n",
		}
	}, forgetest.Pull{Branch: "open", State: "open", Checks: "success", Minutes: 3}, forgetest.Pull{Branch: "merged", State: "merged"}, forgetest.Pull{Branch: "theirs", State: "open"},
		forgetest.Pull{Branch: "closed-theirs", State: "closed"}, forgetest.Pull{Branch: "unfinished", State: "open"}, forgetest.Pull{Branch: "of-a-run", State: "open"})
	remote := plan.Jobs[0].Repo
	plan.Jobs = append(plan.Jobs, tasks.Job{ID: "no-pull", Repo: remote, Commit: &tasks.Commit{Branch: "open"}}, tasks.Job{ID: "no-commit", Repo: remote, Pull: &tasks.PullRequest{}},
		tasks.Job{ID: "no-remote", Repo: tasks.Repo{Kind: tasks.RepoCopy}, Pull: &tasks.PullRequest{}, Commit: &tasks.Commit{Branch: "open"}},
		tasks.Job{ID: "no-branch", Repo: remote, Pull: &tasks.PullRequest{}, Commit: &tasks.Commit{Branch: "new"}})
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
	t.Parallel()
	w, plan, _ := onForge(t, func(*tasks.Plan) map[string]string { return nil }, forgetest.Pull{Branch: "open", State: "open"})
	w.Getenv = func(string) string { return "bad-token" }
	if _, err := pullRequests(t.Context(), w, plan); fault.ExitOf(err) == event.ExitOK || !strings.Contains(err.Error(), "find the pull request of job open") || strings.Contains(err.Error(), "bad-token") {
		t.Errorf("%v", err)
	}
}

// earlier is the forge after a correction of the prompt: of two jobs whose pull requests were merged before it, one was reverted.
func earlier(t *testing.T) (w world.World, plan *tasks.Plan, forge *forgetest.Server) {
	t.Helper()
	return onForge(t, func(plan *tasks.Plan) map[string]string {
		j := plan.Jobs
		old := func(j tasks.Job) string {
			j.Prompt = "Add another notice."
			return ofJob(plan, j)
		}
		return map[string]string{
			"open": ofJob(plan, j[0]), "reverted": old(j[1]), "reverted-revert": "Revert\n\n" + trailers.Reverts.Of(strings.Repeat("2", 40)) + "\n", "merged": old(j[2]), "merged-revert": "Revert\n\n" + trailers.Reverts.Of(base) + "\n",
			"in-fork": ofJob(plan, j[3]),
		}
	}, forgetest.Pull{Branch: "open", State: "open", Checks: "failure"}, forgetest.Pull{Branch: "reverted", State: "merged"}, forgetest.Pull{Branch: "merged", State: "merged"},
		forgetest.Pull{Branch: "in-fork", Head: "mill/web", State: "open", Checks: "pending"}, forgetest.Pull{Branch: "reverted-revert", State: "merged"}, forgetest.Pull{Branch: "merged-revert", State: "merged"})
}

func TestNothingIsLeftOfAPullRequestWhoseInverseWasMerged(t *testing.T) {
	t.Parallel()
	w, plan, _ := earlier(t)
	plan.Rollout = &tasks.Rollout{Advance: tasks.Advance{Checks: 50}}
	found, err := pullRequests(t.Context(), w, plan)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]rollout.Pull{
		"open": {State: "open", Checks: "failed", SameTask: true}, "reverted": {State: "closed"}, "merged": {State: "merged"}, "in-fork": {State: "open", Checks: "pending", SameTask: true},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Otherwise its job would be run and paid again, and the limits would not hold.
func TestNoRequestForAPullRequestFailsUnnoticed(t *testing.T) {
	t.Parallel()
	w, plan, forge := earlier(t)
	if _, err := pullRequests(t.Context(), w, plan); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, c := range forge.Calls() {
		paths[c.Path] = true
	}
	if len(paths) < 12 {
		t.Fatalf("requests %v", paths)
	}
	for path := range paths {
		for _, how := range []forgetest.Fault{forgetest.Denied, forgetest.Unavailable} {
			w, plan, forge := earlier(t)
			forge.Fail(1000, how, "GET", path)
			if _, err := pullRequests(t.Context(), w, plan); err == nil || !strings.HasSuffix(err.Error(), "; nothing was run") || how == forgetest.Unavailable && fault.ExitOf(err) != event.ExitUnavailable {
				t.Errorf("%s %s: %v", path, how, err)
			}
		}
	}
}

func TestPullRequestsAreOnlyReadIfTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask    bool
		change func(plan *tasks.Plan)
		asks   bool
	}{
		"a run":           {true, func(*tasks.Plan) {}, true},
		"a plan":          {false, func(*tasks.Plan) {}, false},
		"no rollout":      {true, func(plan *tasks.Plan) { plan.Rollout = nil }, false},
		"no pull request": {true, func(plan *tasks.Plan) { plan.Jobs[0].Pull = nil }, false},
	} {
		w, plan, forge := onForge(t, func(plan *tasks.Plan) map[string]string {
			return map[string]string{"open": ofJob(plan, plan.Jobs[0])}
		}, forgetest.Pull{Branch: "open", State: "open", Checks: "success"})
		c.change(plan)
		r, err := open(t.Context(), w, plan, &savedRuns{}, c.ask)
		if err != nil || len(forge.Calls()) > 0 != c.asks || len(r.Waves()) != 1 {
			t.Errorf("%s: %d requests, %v", name, len(forge.Calls()), err)
		}
		if passed := r.Waves()[0].Passed; passed != map[bool]int{true: 1}[c.asks] {
			t.Errorf("%s: %d passed", name, passed)
		}
	}
}

// The error of the first request that fails is reported, and no job is asked for after that.
func TestAStoppedRunAsksForNoPullRequests(t *testing.T) {
	t.Parallel()
	w, plan, forge := onForge(t, func(*tasks.Plan) map[string]string { return nil }, forgetest.Pull{Branch: "open", State: "open"})
	for range 100 {
		plan.Jobs = append(plan.Jobs, plan.Jobs[0])
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	if _, err := pullRequests(ctx, w, plan); fault.ExitOf(err) != event.ExitTerminate || err.Error() != "interrupted by SIGTERM; nothing was run" || len(forge.Calls()) > 0 {
		t.Errorf("%v, %d requests", err, len(forge.Calls()))
	}
}

func TestOnlyRemotesThatArePushedToAreAsked(t *testing.T) {
	t.Parallel()
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
