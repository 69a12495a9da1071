package pulls

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

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
)

// managed is a saved run whose pull requests are on a forge of the test. The job of pull request N has the id of its
// branch.
type managed struct {
	*forgetest.Server
	world  world.World
	saved  *savedrun.Run
	access *tasks.Plan
	remote string
}

func hash(n int64) string { return strings.Repeat(fmt.Sprint(n), 40) }

func manage(t *testing.T, given ...forgetest.Pull) *managed {
	t.Helper()
	heads := map[string]string{}
	for _, p := range given {
		heads[p.Branch] = hash(p.Number)
	}
	m := &managed{Server: &forgetest.Server{Kind: "gitea", Token: "good-token", User: "mill", Resolve: func(_, branch string) string { return heads[branch] }}}
	m.Add(forgetest.Repo{Owner: "acme", Name: "web"})
	server := httptest.NewServer(m.Server)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	m.remote = server.URL + "/acme/web.git"
	env := map[string]string{"FORGE_TOKEN": "good-token"}
	m.world = world.World{
		Getenv: func(name string) string { return env[name] }, Now: time.Now, Err: t.Output(),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	m.access = &tasks.Plan{Forges: []tasks.Forge{{Host: at.Host, Kind: tasks.Gitea, TokenEnv: "FORGE_TOKEN"}}}
	m.saved = &savedrun.Run{Dir: t.TempDir(), Report: &report.Report{Run: report.Run{ID: "r1"}}}
	for _, p := range given {
		p.Repo, p.Head, p.Base, p.SHA = "acme/web", "acme/web", "main", hash(p.Number)
		m.AddPull(p)
		m.saved.Report.Jobs = append(m.saved.Report.Jobs, report.Job{
			ID: p.Branch, Repo: "web", Outcome: event.Passed,
			Published:   &report.Published{Remote: m.remote, Branch: p.Branch, Hash: hash(p.Number)},
			PullRequest: &event.PullRequest{Number: p.Number, URL: fmt.Sprintf("%s/acme/web/pulls/%d", server.URL, p.Number)},
		})
	}
	return m
}

// do returns the result and reason of each job, and the exit code of all.
func (m *managed) do(t *testing.T, o Order) (map[string]string, event.Exit) {
	t.Helper()
	r, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, found := r.Do(t.Context()), map[string]string{}
	for _, row := range rows {
		found[row.Job] = strings.TrimSuffix(string(row.Result)+": "+row.Reason, ": ")
	}
	return found, Worst(rows)
}

func (m *managed) states() string {
	var all []string
	for _, p := range m.Pulls() {
		all = append(all, p.Branch+" "+p.State)
	}
	return strings.Join(all, ", ")
}

func differ(t *testing.T, got, want map[string]string) {
	t.Helper()
	for job, text := range want {
		if got[job] != text {
			t.Errorf("%s: %q, want %q", job, got[job], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d: %v", len(got), len(want), got)
	}
}

func inEachState() []forgetest.Pull {
	return []forgetest.Pull{
		{Number: 1, Branch: "ready", State: "open", Checks: "success"},
		{Number: 2, Branch: "red", State: "open", Checks: "failure"},
		{Number: 3, Branch: "merged", State: "merged", Checks: "success"},
		{Number: 4, Branch: "closed", State: "closed"},
	}
}

func TestMergeMergesWhatIsReadyOnly(t *testing.T) {
	m := manage(t, inEachState()...)
	want := map[string]string{
		"ready": "would merge", "red": "not ready: its checks failed", "merged": "merged: it was merged before", "closed": "closed: it was closed before, without merging it",
	}
	got, exit := m.do(t, Order{Verb: Merge, Method: forge.Squash, DryRun: true})
	if differ(t, got, want); exit != event.ExitFailed || m.states() != "ready open, red open, merged merged, closed closed" {
		t.Errorf("a dry run: exit code %d, %s", exit, m.states())
	}
	want["ready"] = "merged"
	got, exit = m.do(t, Order{Verb: Merge, Method: forge.Squash})
	if differ(t, got, want); exit != event.ExitFailed || m.states() != "ready merged, red open, merged merged, closed closed" {
		t.Errorf("exit code %d, %s", exit, m.states())
	}
	want["ready"] = "merged: it was merged before"
	got, _ = m.do(t, Order{Verb: Merge, Method: forge.Squash})
	differ(t, got, want)
}

func TestCloseCommentsOnceAndLeavesMergedOnes(t *testing.T) {
	m := manage(t, inEachState()...)
	o := Order{Verb: Close, Comment: "Replaced."}
	got, exit := m.do(t, o)
	want := map[string]string{"ready": "closed", "red": "closed", "merged": "merged: it was merged before", "closed": "closed: it was closed before"}
	if differ(t, got, want); exit != event.ExitOK || m.states() != "ready closed, red closed, merged merged, closed closed" {
		t.Errorf("exit code %d, %s", exit, m.states())
	}
	m.do(t, o)
	if notes := m.Notes(); len(notes) != 2 || !strings.Contains(notes[0].Body, "Replaced.") {
		t.Errorf("%d comments: %+v", len(notes), notes)
	}
}

func TestRevertClosesWhatIsOpenAndNeedsTheEventsForTheRest(t *testing.T) {
	m := manage(t, inEachState()...)
	want := map[string]string{"ready": "would close", "red": "would close", "merged": "would revert", "closed": "closed: it was closed before"}
	got, exit := m.do(t, Order{Verb: Revert, DryRun: true})
	if differ(t, got, want); exit != event.ExitOK || m.states() != "ready open, red open, merged merged, closed closed" {
		t.Errorf("a dry run: exit code %d, %s", exit, m.states())
	}
	got, exit = m.do(t, Order{Verb: Revert}) // the directory of the run is empty
	if !strings.HasPrefix(got["merged"], "failed: ") || got["ready"] != "closed" || exit != event.ExitPublish || m.states() != "ready closed, red closed, merged merged, closed closed" {
		t.Errorf("exit code %d, %v, %s", exit, got, m.states())
	}
}

func TestStatusShowsEachStateAndWhyAJobHasNone(t *testing.T) {
	m := manage(t, inEachState()...)
	m.saved.Report.Jobs = append(m.saved.Report.Jobs, report.Job{ID: "failed", Repo: "web", Outcome: event.Failed, Reason: "verify failed"})
	r, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{})
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Do(t.Context())
	var text bytes.Buffer
	if err := Print(&text, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ready ", " open ", "merged ", "failed: failed: verify failed\n", "/acme/web/pull/4"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %q:\n%s", want, text.String())
		}
	}
	if Worst(rows) != event.ExitOK || rows[0].PullRequest.Pushed != hash(1) || rows[4].PullRequest != nil {
		t.Errorf("%+v", rows)
	}
}

func TestOnlyReadingIsAllowedWhereAPolicyForbidsPullRequests(t *testing.T) {
	m := manage(t, inEachState()...)
	m.access.Policies = policy.Set{policy.ForUntrusted(nil)}
	if _, refused := m.access.Policies.Refuses(policy.Publish, string(tasks.PublishPR)); !refused {
		t.Fatal("the built-in policy allows pull requests: use another one here")
	}
	for _, v := range []Verb{Merge, Close, Revert} {
		_, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{Verb: v})
		var f fault.Error
		if !errors.As(err, &f) || f.Kind != event.ExitUsage || !strings.HasSuffix(err.Error(), "; nothing was changed") {
			t.Errorf("%d: %v", v, err)
		}
	}
	var text bytes.Buffer
	m.world.Err = &text
	if _, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{}); err != nil || text.Len() > 0 {
		t.Errorf("reading: %v, %s", err, &text)
	}
	for _, v := range []Verb{Merge, Close, Revert} {
		text.Reset()
		if _, err := Open(m.world, m.saved, m.saved.Report.Jobs, m.access, Order{Verb: v, DryRun: true}); err != nil || !strings.Contains(text.String(), "without --dry-run nothing is changed") {
			t.Errorf("dry run of %d: %v, %s", v, err, &text)
		}
	}
}

func TestAForgeThatRefusesTheTokenFailsEachRow(t *testing.T) {
	m := manage(t, inEachState()...)
	m.SetToken("another")
	got, exit := m.do(t, Order{Verb: Close})
	for job, text := range got {
		if !strings.HasPrefix(text, "failed: ") || strings.Contains(text, "good-token") {
			t.Errorf("%s: %s", job, text)
		}
	}
	if exit != event.ExitPublish || len(got) != 4 {
		t.Errorf("exit code %d: %v", exit, got)
	}
}

func TestUnknownJobsAreRefused(t *testing.T) {
	jobs := []report.Job{{ID: "a"}, {ID: "b"}}
	if got, err := Select(jobs, []string{"b"}); err != nil || len(got) != 1 || got[0].ID != "b" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Select(jobs, nil); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Select(jobs, []string{"a", "c"}); err == nil || !strings.Contains(err.Error(), `job "c" not found`) {
		t.Errorf("%v", err)
	}
}
