package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

func TestTheFeedbackOfAFailedVerify(t *testing.T) {
	reports, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	got := faults{failed: []commands.Ran{
		{Verify: event.Verify{Name: "test", ExitCode: 1, Tail: "FAIL\n"}},
		{Verify: event.Verify{Name: "lint", ExitCode: -1}},
		{Verify: event.Verify{Name: "slow", ExitCode: -1, TimeoutMS: 1500, Tail: "begun\n", OutputPath: "outputs/a/command-1.txt"}},
	}}.feedback(reports)
	for _, want := range []string{"<check name=\"test\" result=\"exit code 1\">\nFAIL\n</check>\n", "<check name=\"lint\" result=\"killed\">\n\n</check>\n", "<check name=\"slow\" result=\"timed out after 1.5s\">\nbegun\n(excerpt; the complete output is in " + reports.Path() + "/outputs/a/command-1.txt)\n</check>\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

func TestTheRepositorysNotes(t *testing.T) {
	s := setUp(t)
	for name, text := range map[string]string{"AGENTS.md": "root\n", "web/app/AGENTS.md": "app \xff\n", "web/CLAUDE.md": "not read\n", "web/app/x": "x\n"} {
		mkdirFor(t, filepath.Join(s.repo, name))
		writeFile(t, filepath.Join(s.repo, name), text)
	}
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "web", "app")
	j := s.begin(&tasks.Plan{}, spec)
	n := instructions{j, s.prepared(j)}
	notes := func(profile permission.Profile) string {
		var all []string
		for _, n := range n.repositoryNotes(sessionSpec{task: tasks.Job{Profile: profile}}) {
			all = append(all, n.Name+": "+n.Text)
		}
		return strings.Join(all, "")
	}
	if got := notes(spec.Profile); got != "../../AGENTS.md: root\nAGENTS.md: app \uFFFD\n" {
		t.Errorf("%q", got)
	}
	denied := spec.Profile.Clone()
	denied.Rules = append(denied.Rules, permission.Rule{Permission: "read", Pattern: "*AGENTS.md"})
	if got := notes(denied); got != "../CLAUDE.md: not read\n" {
		t.Errorf("without AGENTS.md: %q", got)
	}
	own := sessionSpec{task: spec, speaks: "script:x"}
	prompt := n.system(own, access.Scratch{}, n.repositoryNotes(own))
	for _, want := range []string{n.site.Space.Dir(), "root\n", "a separate worktree, created from HEAD; the runner commits to branch millhand/a; the workspace is its directory web/app"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the system prompt lacks %q", want)
		}
	}
}

func TestWorkspaceGitState(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit = nil
	writeFile(t, filepath.Join(s.repo, "mine"), "x\n")
	j := s.begin(&tasks.Plan{AllowDirty: true}, spec)
	n := instructions{j, s.prepared(j)}
	if got := n.gitState(); got != "branch main; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--detach")
	if got := n.gitState(); got != "no branch is checked out; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--orphan", "new")
	if got := n.gitState(); got != "branch new, no commits yet" {
		t.Errorf("%q", got)
	}
}

func TestTotalsAddUpOverSessions(t *testing.T) {
	if got := (&sessions{}).totals(); got.Cost.USD() == nil || got.Cost.Least() != 0 || got.Turns != 0 {
		t.Errorf("no sessions: %+v", got)
	}
	if since(nil, new(money.USD(1))) != nil || since(new(money.USD(1)), nil) != nil || *since(new(money.USD(1)), new(money.USD(3))) != 2 {
		t.Error("what was spent between two sums")
	}
}
