package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// What the preflight found limits the job: workflows that its push can't contain, and the branch of its pull request.
func TestAJobStartsWithWhatThePreflightFound(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Profile.Rules = append(spec.Profile.Rules, permission.Rule{Permission: "edit", Pattern: ".github/**", Effect: permission.Allow})
	first := s.begin(&tasks.Plan{}, spec)
	ready := s.opts.Preflight
	start := ready.Starts["a"]
	start.NoWorkflows, start.OnPull = "no permission", preflight.OnPull{Branch: "of-the-pull"}
	ready.Starts["a"] = start
	j := first.run.Job(spec)
	if d := j.Spec.Profile.Decide(permission.Need("edit", ".github/workflows/ci.yml")); d.Effect != permission.Deny || !strings.Contains(d.Source, "no permission") {
		t.Errorf("workflows: %+v", d)
	}
	want(t, "branch", "of-the-pull", j.Spec.Commit.Branch)
	if d := first.Spec.Profile.Decide(permission.Need("edit", ".github/workflows/ci.yml")); d.Effect == permission.Deny || first.Spec.Commit.Branch != "millhand/a" {
		t.Errorf("another job: %+v", d)
	}
	if now := j.Now(); time.Since(now) > time.Hour || j.SessionID("x") != "r1/x" {
		t.Errorf("%v, %s", now, j.SessionID("x"))
	}
}

// A job that runs is changed in these ways only.
func TestARunningJobIsChanged(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	ctx, odd := j.Begin(t.Context()), errors.New("odd")
	if j.End(odd); !errors.Is(context.Cause(ctx), odd) {
		t.Errorf("it is ended by %v", context.Cause(ctx))
	}
	j.UseModel(tasks.Model{ID: "script:y", Name: "y"})
	j.Undo("a: revert")
	j.StartAt("base", "tip")
	if j.Spec.Model != "script:y" || j.Spec.ModelName != "y" || j.Spec.Commit.Message != "a: revert" || j.Start.Base != "base" || j.Start.Tip != "tip" {
		t.Errorf("%+v, %+v", j.Spec, j.Start)
	}
}

func TestSignaturesOfTheCommit(t *testing.T) {
	own := gitops.Signature{Name: "millhand", Email: "millhand@localhost"}
	signer := gitops.Signature{Name: "Sig", Email: "sig@example.com"}
	for name, c := range map[string]struct {
		commit            *tasks.Commit
		signer            gitops.Signature
		author, committer gitops.Signature
	}{
		"none":               {nil, signer, own, own},
		"the default":        {&tasks.Commit{}, signer, own, own},
		"an author":          {&tasks.Commit{Author: tasks.Person{Name: "A", Email: "a@example.com"}}, signer, gitops.Signature{Name: "A", Email: "a@example.com"}, own},
		"signed":             {&tasks.Commit{Sign: tasks.SignSSH}, signer, own, signer},
		"signed by nobody":   {&tasks.Commit{Sign: tasks.SignSSH}, gitops.Signature{Name: "Sig"}, own, own},
		"signed by a server": {&tasks.Commit{Sign: tasks.SignAPI}, signer, own, own},
	} {
		now := time.Unix(1000, 0)
		j := &Job{opts: &Options{Now: func() time.Time { return now }, Preflight: &preflight.Result{Signing: preflight.Signing{Committer: c.signer}}}, Spec: tasks.Job{Commit: c.commit}}
		c.author.When, c.committer.When = now, now
		author, committer := j.Signatures()
		want(t, name+": author", c.author, author)
		want(t, name+": committer", c.committer, committer)
	}
}

// The texts of an event are in the prompt, without secrets; a forge that fails ends the job.
func TestContextOfTheEvent(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	j := s.begin(&tasks.Plan{}, s.job("a"))
	if text, end := j.ContextText(t.Context()); text != "" || end != nil {
		t.Errorf("without the key: %q, %+v", text, end)
	}
	j.Spec.Context = &tasks.Context{Thread: tasks.Thread{Number: 7, Issue: true}, Parts: []tasks.ContextPart{tasks.ContextEvent}, Texts: "It fails. held-by-millhand-1234"}
	text, end := j.ContextText(t.Context())
	if end != nil || !strings.Contains(text, "It fails. "+redact.Mark) {
		t.Errorf("%q, %+v", text, end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	text, end = j.ContextText(ctx)
	if stopped(t, "after a signal", end, event.CodeInterrupted, "SIGINT"); text != "" || end == nil {
		t.Errorf("%q", text)
	}
}

func TestWorktreesAreDiscardedByTheirOwner(t *testing.T) {
	for name, c := range map[string]struct {
		discard func(string) error
		left    bool
	}{
		"no owner":           {nil, false},
		"one that moves it":  {func(string) error { return nil }, true}, // it removes the directory itself
		"one that can't now": {func(string) error { return errors.New("busy") }, false},
	} {
		dir := filepath.Join(t.TempDir(), "tree")
		writeFile(t, filepath.Join(dir, "f"), "x\n")
		if err := (Trees{Discard: c.discard}).discard(dir); err != nil || exists(dir) != c.left {
			t.Errorf("%s: %v, left: %t", name, err, exists(dir))
		}
	}
}

// A run that is resumed uses the copy of a directory that has its branches, also if it can't be opened now, but nothing of a
// copy whose creation was interrupted.
func TestCopiesOfAnEarlierProcess(t *testing.T) {
	s := setUp(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), "x\n")
	repo := tasks.Repo{Name: "n", Dir: dir}
	first, err := newCopies(&s.opts).open(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	git(t, first.Root(), "branch", "of-a-job")
	s.resumed(history.Order{Do: history.Resume{}})
	again, err := newCopies(&s.opts).open(t.Context(), repo)
	if err != nil || again.Root() != first.Root() || git(t, again.Root(), "branch", "--list", "of-a-job") == "" {
		t.Errorf("the branches of its jobs are lost: %v", err)
	}
	if err := os.Rename(filepath.Join(first.Root(), ".git", "HEAD"), filepath.Join(first.Root(), ".git", "HEAD.old")); err != nil {
		t.Fatal(err)
	}
	if _, err := newCopies(&s.opts).open(t.Context(), repo); err == nil {
		t.Errorf("a damaged copy is used: %v", err)
	}
	if _, err := os.Stat(filepath.Join(first.Root(), ".git", "refs", "heads", "of-a-job")); err != nil {
		t.Errorf("the branches of its jobs are lost: %v", err)
	}
	other := tasks.Repo{Name: "other", Dir: dir}
	writeFile(t, filepath.Join(s.opts.Dir.Path(), "repos", ".other", "of-an-earlier-attempt"), "x\n")
	fresh, err := newCopies(&s.opts).open(t.Context(), other)
	if err != nil || git(t, fresh.Root(), "ls-files") != "a" || git(t, fresh.Root(), "status", "--porcelain") != "" {
		t.Errorf("an incomplete copy is used: %v", err)
	}
}

// The reason of a job whose workspace could not be prepared names the disk, and how to continue.
func TestFaultsOfThePreparation(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	for name, c := range map[string]struct {
		site *Site
		err  error
		code event.Code
		text string
	}{
		"a fault":                {nil, errors.New("odd"), event.CodeRepository, "prepare the workspace: odd"},
		"a full disk":            {nil, syscall.ENOSPC, event.CodeMachine, "prepare the workspace: the disk of TMPDIR is full (" + s.opts.Work + ")"},
		"of other directories":   {p, syscall.ENOSPC, event.CodeMachine, "the disk of TMPDIR is full"},
		"a read-only disk":       {nil, syscall.EROFS, event.CodeMachine, "prepare the workspace: read-only file system"},
		"of the machine's other": {p, syscall.EROFS, event.CodeMachine, "prepare the workspace: read-only file system"},
	} {
		stopped(t, name, notPrepared(t.Context(), j.opts, c.site, c.err), c.code, c.text)
	}
}

// Users of OpenCode expect that the permissions in its files apply: each run warns once of those that are not read.
func TestUnreadConfigurationOfOpenCode(t *testing.T) {
	const text = " in repo is for OpenCode and not read; millhand init --from-opencode converts it (docs/opencode.md)"
	for name, c := range map[string]struct {
		files []string
		plan  func(root string) tasks.Plan
		want  string
	}{
		"none":             {[]string{".opencode/other"}, nil, ""},
		"its file":         {[]string{"opencode.jsonc"}, nil, "opencode.jsonc" + text},
		"directories":      {[]string{".opencode/agents/a.md", ".opencode/command/c.md"}, nil, ".opencode/agents, .opencode/command" + text},
		"agents are read":  {[]string{".opencode/agents/a.md", ".opencode/command/c.md"}, func(string) tasks.Plan { return tasks.Plan{AgentFiles: true} }, ".opencode/command" + text},
		"commands as well": {[]string{".opencode/agents/a.md", ".opencode/commands/c.md"}, func(string) tasks.Plan { return tasks.Plan{AgentFiles: true, Commands: true} }, ""},
		"a tool file of it": {[]string{".opencode/tool/t.ts", ".opencode/plugin/p.ts"}, func(string) tasks.Plan {
			return tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Path: ".opencode/tool/t.ts", Workspace: true}}}}
		}, ".opencode/plugin" + text},
		"a plugin by its path": {[]string{".opencode/plugin/p.ts"}, func(root string) tasks.Plan {
			return tasks.Plan{Scripts: tasks.Scripts{Plugins: []tasks.ScriptFile{{Path: filepath.Join(root, ".opencode", "plugin", "p.ts")}}}}
		}, ""},
		"all tool files": {[]string{".opencode/tools/t.ts"}, func(root string) tasks.Plan {
			return tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Path: filepath.Join(root, ".opencode")}}}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
			for _, file := range c.files {
				writeFile(t, filepath.Join(p.Space.Dir(), file), "x\n")
			}
			if c.plan != nil {
				*p.job.Plan = c.plan(p.Space.Dir())
			}
			p.WarnOfUnread()
			p.WarnOfUnread()
			want(t, "warnings", c.want, s.warnings())
		})
	}
}
