package repos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

const secret = "secret-of-a-user"

// stage is a repository with a commit, and a process with a home and a log.
type stage struct {
	*gittest.Sandbox
	world world.World
	log   *strings.Builder
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Sandbox: gittest.NewSandbox(t), log: &strings.Builder{}}
	s.Commit()
	env := map[string]string{"HOME": s.Home, "PATH": os.Getenv("PATH"), "GIT_COMMITTER_NAME": "Mill", "GIT_COMMITTER_EMAIL": "mill@example.com"}
	s.world = world.World{Dir: s.Root, Err: s.log, Now: time.Now, Getenv: func(name string) string { return env[name] }}
	return s
}

// plan has a job for each branch.
func (s *stage) plan(branches ...string) *tasks.Plan {
	profile, _ := permission.Preset("build")
	p := &tasks.Plan{}
	for _, branch := range branches {
		p.Jobs = append(p.Jobs, tasks.Job{
			ID: "job-" + branch, Task: branch, Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.Root}, Profile: profile, Attempts: 1,
			Commit: &tasks.Commit{Branch: branch},
		})
	}
	return p
}

// check checks the repositories of a plan for a run.
func (s *stage) check(ctx context.Context, p *tasks.Plan, r Run, quiet bool) (*tasks.Plan, *preflight.Result, error) {
	pulls := forges.Clients(s.world, forges.Hosts(s.world, p, nil), nil)
	next, ready, err := Check(ctx, s.world, p, r, quiet, redact.New([]string{secret}), pulls)
	s.T.Cleanup(ready.Close)
	return next, ready, err
}

func TestARefusalIsShownWithoutSecretsOrDecidedByAQueue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Run("branch", secret)
	plan := s.plan("free", secret)
	_, ready, err := s.check(t.Context(), plan, Run{ID: "r"}, true)
	if text := err.Error(); ready != nil || fault.ExitOf(err) != event.ExitUsage || strings.Contains(text, secret) || !strings.HasSuffix(text, "; nothing was run") {
		t.Errorf("%v, exit code %d", err, fault.ExitOf(err))
	}
	_, _, err = s.check(t.Context(), plan, Run{ID: "r", Queued: true}, true)
	if refused := preflight.Refusals(err); len(refused) != 1 || refused[0].Job != "job-"+secret || refused[0].Code != event.CodeBranchExists {
		t.Errorf("in a queue: %v", err)
	}
}

func TestOnlyRunsWithoutAQueueReserveTheirBranches(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, ready, err := s.check(t.Context(), s.plan("a"), Run{ID: "r1", Queued: true}, true); err != nil || ready.Start("job-a").Base == "" {
		t.Fatalf("%+v, %v", ready.Start("job-a"), err)
	}
	if _, _, err := s.check(t.Context(), s.plan("a"), Run{ID: "r2"}, true); err != nil {
		t.Fatalf("a branch that a queued job creates: %v", err)
	}
	if _, _, err := s.check(t.Context(), s.plan("a"), Run{ID: "r3"}, true); err == nil || !strings.Contains(err.Error(), "branch a is reserved by run r2") {
		t.Errorf("a branch that a run creates: %v", err)
	}
}

func TestACheckThatIsEndedHasTheExitCodeOfItsCause(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, c := range map[string]struct {
		cause error
		want  event.Exit
		text  string
	}{
		"a signal": {event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate}, event.ExitTerminate, "SIGTERM; nothing was run"},
		"a limit":  {errors.New("run timed out after 1m"), event.ExitDeadline, "run timed out after 1m; nothing was run"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		_, ready, err := s.check(ctx, s.plan("a"), Run{ID: "r", Queued: true}, true)
		if ready != nil || fault.ExitOf(err) != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, exit code %d, want %d", name, err, fault.ExitOf(err), c.want)
		}
	}
}

func TestFetchesAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	plan := s.plan("a", "b")
	plan.Jobs[0].Repo = tasks.Repo{Name: "far", Kind: tasks.RepoURL, URL: "file://" + s.Root}
	plan.Jobs[1].Repo = tasks.Repo{Name: "gone", Kind: tasks.RepoURL, URL: "file://" + filepath.Join(s.Home, secret)}
	_, ready, err := s.check(t.Context(), plan, Run{ID: "r"}, false)
	if err != nil || ready.Start("job-a").Base == "" || ready.Skip("job-b").Code != event.CodeClone {
		t.Fatalf("%+v, %v", ready, err)
	}
	log := s.log.String()
	for _, line := range []string{"fetching far\n", "fetched far\n", "fetching gone\n", "fetch gone: "} {
		if strings.Count(log, line) != 1 {
			t.Errorf("no line %q in %q", line, log)
		}
	}
	if strings.Contains(log, secret) || strings.Contains(log, "fetched gone") {
		t.Errorf("log %q", log)
	}
	if found, err := os.ReadDir(s.world.Mirrors()); err != nil || len(found) == 0 {
		t.Errorf("%d mirrors, %v", len(found), err)
	}
	s.log.Reset()
	if _, _, err := s.check(t.Context(), plan, Run{ID: "quiet", Queued: true}, true); err != nil || s.log.Len() > 0 {
		t.Errorf("quiet: %q, %v", s.log, err)
	}
}

func TestAForkGetsTheNextFreeBranch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Run("branch", "a-fork-1")
	s.Run("branch", "a-fork-2")
	next, ready, err := s.check(t.Context(), s.plan("a-fork-1"), Run{ID: "r", Fork: &savedsession.Fork{}}, true)
	if err != nil || next.Jobs[0].Commit.Branch != "a-fork-3" || ready.Start("job-a-fork-1").Base == "" {
		t.Errorf("branch %s, %v", next.Jobs[0].Commit.Branch, err)
	}
	s.Run("branch", "named")
	if next, _, err := s.check(t.Context(), s.plan("named"), Run{ID: "r", Fork: &savedsession.Fork{}}, true); err == nil || next.Jobs[0].Commit.Branch != "named" {
		t.Errorf("a branch with another name: %s, %v", next.Jobs[0].Commit.Branch, err)
	}
}

func TestPullRequestsAreCheckedWithTheForgesOfTheProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Run("remote", "add", "origin", "file://"+s.Root)
	plan := s.plan("a")
	plan.Jobs[0].Publish, plan.Jobs[0].Pull = tasks.PublishPR, &tasks.PullRequest{}
	if _, _, err := s.check(t.Context(), plan, Run{ID: "r"}, true); err == nil || !strings.Contains(err.Error(), "the remote is not on a forge") {
		t.Errorf("%v", err)
	}
}
