package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/runner/instructions"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// What verify commands did before the agent is in its first prompt, and in that of the model that it escalates to.
func TestFailuresOfTheBaselineAreInThePrompts(t *testing.T) {
	s := setUp(t)
	spec := s.escalates()
	s.baseline = []event.Baseline{{Name: "v", ExitCode: 1, Tail: "no such file"}, {Name: "ok", Passed: true}}
	const shown = "(?s)fail [(]1 of 2[)]:.*<check name=\"v\" result=\"exit code 1\">\nno such file"
	s.uses.OpenModel = casts(t, map[string]string{"script:x": asked(shown, writesOne), "script:y": asked(shown, writesTwo)})
	if _, r, end := s.works(&tasks.Plan{}, spec, ""); end != nil || r.Final != "second" {
		t.Errorf("%+v, %+v", end, r)
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
	n := instructions.Of{Job: j.Job, Site: s.prepared(j)}
	notes := func(profile permission.Profile) string {
		var all []string
		for _, n := range n.Repository(profile) {
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
	text := prompt.System(n.Input(instructions.Session{Task: spec, Model: "script:x"}, n.Repository(spec.Profile)))
	for _, want := range []string{n.Site.Space.Dir(), "root\n", "a separate worktree, created from HEAD; the runner commits to branch millhand/a; the workspace is its directory web/app"} {
		if !strings.Contains(text, want) {
			t.Errorf("the system prompt lacks %q", want)
		}
	}
}

// A job on the branch of a pull request gets the instructions of the base: others can have written those of the branch.
func TestInstructionsOfAPullRequest(t *testing.T) {
	s := setUp(t)
	trusted := s.commit(map[string]string{"AGENTS.md": "of the base"})
	s.commit(map[string]string{"AGENTS.md": "of the branch", "sub/AGENTS.md": "of the branch", "sub/x": "x", ".agents/skills/x/SKILL.md": "---\nname: x\ndescription: d\n---\n"})
	s.uses.OpenModel = plays(t, "  - calls: [{tool: read, args: {filePath: sub/x}}]\n  - text: done\n")
	j := s.begin(&tasks.Plan{}, s.job("a"))
	j.Start.OnPull.Trusted = trusted
	if _, end := s.session(j, s.prepared(j)); end != nil {
		t.Fatalf("%+v", end)
	}
	state, _, err := savedsession.Read(s.opts.Dir, "a")
	if err != nil || !strings.Contains(state.Session.System, "of the base") || strings.Contains(state.Session.System, "of the branch") || slices.Contains(state.Session.Tools, "skill") {
		t.Errorf("%v, tools %s, instructions:\n%s", err, state.Session.Tools, state.Session.System)
	}
	for _, m := range state.Messages {
		if strings.Contains(m.Text, "of the branch") {
			t.Errorf("the model reads %s", m.Text)
		}
	}
}

// A broken skill is reported once, although each session of the job looks for skills.
func TestABrokenSkill(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{".agents/skills/x/SKILL.md": "broken", ".agents/skills/y/SKILL.md": "---\nname: y\ndescription: d\n---\nthe skill\n"})
	_, _, end := s.works(helpers(), s.job("a"), asksChild("look", "where", "")+"  - {expect: [the skill], text: done}\nagents:\n  look: {turns: [{calls: [{tool: skill, args: {name: y}}]}, {expect: [the skill], text: the skill}]}\n")
	if got := s.warnings(); end != nil || !strings.Contains(got, ".agents/skills/x/SKILL.md") || strings.Count(got, "\n") > 0 {
		t.Errorf("%+v, warnings: %s", end, got)
	}
}

// Instructions that can't be read, or that are outside of the repository, are not used.
func TestInstructionsThatCantBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(t *testing.T, dir string)
		warn string
	}{
		"a directory": {func(t *testing.T, dir string) { t.Helper(); mkdirFor(t, filepath.Join(dir, "AGENTS.md", "x")) }, "AGENTS.md of the repository is ignored: "},
		"a symlink outside": {func(t *testing.T, dir string) {
			t.Helper()
			writeFile(t, filepath.Join(dir, "..", "secret"), "secret")
			if err := os.Symlink("../secret", filepath.Join(dir, "AGENTS.md")); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"too large": {func(t *testing.T, dir string) {
			t.Helper()
			writeFile(t, filepath.Join(dir, "AGENTS.md"), strings.Repeat("x", 256<<10+1))
		}, "AGENTS.md of the repository is ignored: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			j := s.begin(&tasks.Plan{}, s.job("a"))
			p := s.prepared(j)
			c.set(t, p.Dir)
			if notes := (instructions.Of{Job: j.Job, Site: p}).Repository(j.Spec.Profile); len(notes) != 0 {
				t.Errorf("%+v", notes)
			}
			if got := s.warnings(); !strings.HasPrefix(got, c.warn) || (got == "") != (c.warn == "") {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

func TestWorkspaceGitState(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit = nil
	writeFile(t, filepath.Join(s.repo, "mine"), "x\n")
	j := s.begin(&tasks.Plan{AllowDirty: true}, spec)
	n := instructions.Of{Job: j.Job, Site: s.prepared(j)}
	if got := n.Input(instructions.Session{}, nil).Environment.Git; got != "branch main; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--detach")
	if got := n.Input(instructions.Session{}, nil).Environment.Git; got != "no branch is checked out; 1 path had uncommitted changes before you started" {
		t.Errorf("%q", got)
	}
	git(t, s.repo, "checkout", "-q", "--orphan", "new")
	if got := n.Input(instructions.Session{}, nil).Environment.Git; got != "branch new, no commits yet" {
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

// A journal that can't be written any more is reported, and the session goes on.
func TestATranscriptThatCantBeWritten(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	w := newWork(j, s.prepared(j))
	j.run.equipment.OpenModel = plays(t, "  - text: done\n")
	o, err := w.openSession(t.Context(), j.ownSpec(), nil)
	if err != nil {
		t.Fatal(err)
	}
	o.transcript.Close()
	if end := o.run(t.Context(), "go"); !end.Done() || !strings.HasPrefix(s.warnings(), "transcript incomplete: ") {
		t.Errorf("%+v, warnings: %s", end, s.warnings())
	}
}
