package delivery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// token has the form of a service's key.
const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

func (d *Delivery) patchText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.Options.Dir.Path(), d.Patch))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestChangesAreReportedAndSavedAsPatch(t *testing.T) {
	s := setUp(t)
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"new": "one\ntwo\n"})
	if d.Measured() || !d.Lost() {
		t.Error("it is measured before anybody looked")
	}
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	found := s.of(event.ChangesFound)
	want := []event.Change{{Path: "new", Kind: "added", Added: 2}}
	if len(found) != 1 || !cmp.Equal(want, found[0].Changes) {
		t.Errorf("told %+v", found)
	}
	if d.Patch != "patches/a.patch" || !strings.Contains(d.patchText(t), "+++ b/new\n") || !d.Measured() || d.Lost() {
		t.Errorf("the patch is %q", d.Patch)
	}
}

func TestAJobWithoutChanges(t *testing.T) {
	s := setUp(t)
	d := s.delivery(&tasks.Plan{}, s.job("a"), nil)
	if end := d.FindChanges(t.Context()); end != nil || d.Patch != "" || d.Lost() {
		t.Errorf("%+v, patch %q", end, d.Patch)
	}
	if end := d.Commit(t.Context()); end != nil || d.Made.Hash != "" {
		t.Errorf("%+v, commit %q", end, d.Made.Hash)
	}
	d.Job.Spec.RequireChanges = true
	if end := d.FindChanges(t.Context()); end == nil || end.Code != event.CodeFailed || end.Detail != "the task requires changes and nothing was changed" {
		t.Errorf("%+v", end)
	}
}

func TestTheCommitIsExactlyTheChange(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit.Author = tasks.Person{Name: "Ann", Email: "ann@example.com"}
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n", "b": "y\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	writeFile(t, filepath.Join(d.Site.Space.Dir(), "late"), "by whoever still runs\n")
	if end := d.Commit(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if got := git(t, s.repo, "show", "--format=%P %an <%ae> %cn <%ce>", "--name-only", "millhand/a"); got != d.Site.Base+" Ann <ann@example.com> millhand <millhand@localhost>\n\na\nb" {
		t.Errorf("the commit is %s", got)
	}
	made := s.of(event.Committed)
	if len(made) != 1 || made[0].Commit.Branch != "millhand/a" || made[0].Commit.Hash != git(t, s.repo, "rev-parse", "millhand/a") {
		t.Errorf("told %+v", made)
	}
	if message := git(t, s.repo, "log", "-1", "--format=%B", "millhand/a"); message != strings.TrimSpace(made[0].Commit.Message) || !strings.Contains(message, "\nMillhand-Job: a\n") {
		t.Errorf("the message is %q", message)
	}
}

// A commit that its task signs has the signature, which is also reported.
func TestACommitIsSigned(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit.Sign = tasks.SignSSH
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
	const signature = "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n"
	var signed string
	d.Options.Preflight.Signing.Sign = func(_ context.Context, commit []byte) (string, error) {
		signed = string(commit)
		return signature, nil
	}
	if end := ending.First(t.Context(), d.FindChanges, d.Commit); end != nil {
		t.Fatalf("%+v", *end)
	}
	raw := git(t, s.repo, "cat-file", "commit", "millhand/a")
	if !strings.Contains(raw, "\ngpgsig -----BEGIN SSH SIGNATURE-----\n x\n") || !strings.Contains(signed, "\nMillhand-Job: a") || s.of(event.Committed)[0].Commit.Signature != signature {
		t.Errorf("signed %q; the commit is\n%s", signed, raw)
	}
	d.Options.Preflight.Signing.Sign = func(context.Context, []byte) (string, error) { return "", errors.New("no agent") }
	d.Job.Start.Tip = d.Made.Hash
	if end := d.Commit(t.Context()); end == nil || !strings.Contains(end.Detail, "no agent") || git(t, s.repo, "cat-file", "commit", "millhand/a") != raw {
		t.Errorf("without a key: %+v", end)
	}
}

// Changes that can't be read are not saved, and the job has what was attempted as its reason.
func TestChangesThatCantBeRead(t *testing.T) {
	const missing = "0123456789012345678901234567890123456789"
	for name, c := range map[string]struct {
		signal bool
		change func(d *Delivery)
		code   event.Code
		reason string
	}{
		"after a signal": {true, func(*Delivery) {}, event.CodeTerminated, ""},
		"the base, for what is outside of the workspace": {false, func(d *Delivery) { d.Site.Base, d.Site.Below, d.Site.InPlace = missing, "web", false }, "", "find the job's changes: "},
		"the base, for secrets of the user":              {false, func(d *Delivery) { d.Site.Base, d.Site.Dirty = missing, []string{"own"} }, "", "look for secrets in the job's changes: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Commit.Branch = tasks.CurrentBranch
			d := s.delivery(&tasks.Plan{AllowDirty: true}, spec, map[string]string{"own": "x\n"})
			c.change(d)
			ctx, cancel := context.WithCancelCause(t.Context())
			if c.signal {
				cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
			}
			end := d.FindChanges(ctx)
			cancel(nil)
			if end == nil || c.code != "" && end.Code != c.code || !strings.HasPrefix(end.Detail, c.reason) || d.Patch != "" || !d.Lost() {
				t.Errorf("%+v, patch %q", end, d.Patch)
			}
		})
	}
}

func TestPublishPatchCommitsNothing(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Publish = tasks.PublishPatch
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if end := d.Commit(t.Context()); end != nil || d.Made.Hash != "" || d.Lost() {
		t.Errorf("%+v, %+v", end, d.Made)
	}
}

func TestCommitRequiresUnchangedBranch(t *testing.T) {
	s := setUp(t)
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	git(t, s.repo, "branch", "millhand/a")
	end := d.Commit(t.Context())
	if end == nil || end.Code != event.CodeCommit || !strings.HasPrefix(end.Detail, "commit: ") {
		t.Errorf("a branch of somebody else's: %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if end = ending.OfGit(ctx, "commit", os.ErrExist); end.Code != event.CodeInterrupted {
		t.Errorf("after a signal: %+v", end)
	}
	d.Job.Start.Tip = git(t, s.repo, "rev-parse", "millhand/a")
	if end = d.Commit(t.Context()); end != nil || git(t, s.repo, "rev-parse", "millhand/a") != d.Made.Hash {
		t.Errorf("a branch that is to be replaced: %+v", end)
	}
}

func TestInPlaceCommitReportsConcurrentCommit(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit.Branch = tasks.CurrentBranch
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	git(t, s.repo, "commit", "-q", "--allow-empty", "-m", "of the agent")
	if end := d.Commit(t.Context()); end == nil || !strings.HasPrefix(end.Detail, "commit in place (if the agent has committed by itself") {
		t.Errorf("%+v", end)
	}
	git(t, s.repo, "reset", "-q", "--soft", "HEAD~1")
	if end := d.Commit(t.Context()); end != nil || d.Made.Branch != "main" || git(t, s.repo, "rev-parse", "main") != d.Made.Hash {
		t.Errorf("%+v, %+v", end, d.Made)
	}
}

func TestCommitsInAMirrorStayWithTheirRun(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Repo = tasks.Repo{Name: "far", Kind: tasks.RepoURL, URL: "file://" + s.repo}
	spec.Publish = tasks.PublishPush
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if end := d.Commit(t.Context()); end != nil || d.Made.Branch != "millhand/a" {
		t.Fatalf("%+v, %+v", end, d.Made)
	}
	if got := git(t, d.Site.Origin.Git.Common, "branch", "--list", "millhand/a"); got != "" {
		t.Errorf("the mirror has the branch %q", got)
	}
	if end := d.Publish(t.Context()); end != nil || git(t, s.repo, "rev-parse", "millhand/a") != d.Made.Hash {
		t.Errorf("%+v", end)
	}
}

func TestWorkInProgressIsCommittedAfterALimit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Delivery)
		code   event.Code
		wip    bool
	}{
		"a limit":               {nil, event.CodeLimit, true},
		"a budget":              {nil, event.CodeOverBudget, true},
		"a failure":             {nil, event.CodeFailed, false},
		"a signal":              {nil, event.CodeTerminated, false},
		"not wanted":            {func(d *Delivery) { d.Job.Spec.Commit.WIP = false }, event.CodeLimit, false},
		"no commit":             {func(d *Delivery) { d.Job.Spec.Commit = nil }, event.CodeLimit, false},
		"no session yet":        {func(d *Delivery) { d.Site.Touched = false }, event.CodeLimit, false},
		"the patch is it":       {func(d *Delivery) { d.Job.Spec.Publish = tasks.PublishPatch }, event.CodeLimit, false},
		"not measured":          {func(d *Delivery) { d.Changes = nil }, event.CodeLimit, false},
		"nothing was changed":   {func(d *Delivery) { d.Changes = &state.ChangeSet{} }, event.CodeLimit, false},
		"a mirror to push from": {func(d *Delivery) { d.Job.Spec.Repo.Kind, d.Job.Spec.Publish = tasks.RepoURL, tasks.PublishPush }, event.CodeLimit, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Commit.WIP = true
			d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
			if end := d.FindChanges(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			if c.change != nil {
				c.change(d)
			}
			d.CommitWIP(t.Context(), &ending.Stop{Code: c.code})
			if got := d.Made.Hash != ""; got != c.wip {
				t.Fatalf("committed: %t", got)
			}
			if !c.wip {
				return
			}
			message := git(t, s.repo, "log", "-1", "--format=%B", "millhand/a")
			if !strings.HasPrefix(message, "wip: a: Go") || !strings.Contains(message, "\nMillhand-Outcome: "+string(c.code.Cause().Outcome)) {
				t.Errorf("the message is %q", message)
			}
		})
	}
}

func TestWorkInProgressThatCantBeCommittedIsAWarning(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Commit.WIP = true
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	git(t, s.repo, "branch", "millhand/a")
	if d.CommitWIP(t.Context(), &ending.Stop{Code: event.CodeLimit}); !strings.Contains(s.warnings(), "commit work in progress: ") || d.Made.Hash != "" {
		t.Errorf("%+v; warnings: %s", d.Made, s.warnings())
	}
}

func TestASecretInTheChangeEndsTheJob(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New(nil)
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"config": "x\nkey: " + token + "\n", "fine": "y\n"})
	end := d.FindChanges(t.Context())
	if end == nil || end.Code != event.CodeSecret || !strings.Contains(end.Detail, "config:2 (") || strings.Contains(end.Detail, token) {
		t.Fatalf("%+v", end)
	}
	if patch := d.patchText(t); strings.Contains(patch, token) || !strings.Contains(patch, "+key: "+redact.Mark) || !strings.Contains(patch, "+y\n") {
		t.Errorf("the patch is %s", patch)
	}
	d.Job.Spec.Commit = nil
	if end := d.FindChanges(t.Context()); end != nil || !strings.Contains(s.warnings(), "config:2 (") || !strings.Contains(s.warnings(), "redacted in the patch") {
		t.Errorf("without a commit: %+v; warnings: %s", end, s.warnings())
	}
}

func TestExistingSecretIsNotALeak(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	writeFile(t, filepath.Join(s.repo, "config"), "key: "+token+"\n# held-by-millhand-1234\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"config": "the key: " + token + "\n# held-by-millhand-1234\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if patch := d.patchText(t); strings.Contains(patch, "held-by-millhand-1234") || !strings.Contains(patch, token) {
		t.Errorf("the patch is %s", patch)
	}
	if !strings.Contains(s.warnings(), "so the patch can't be applied") {
		t.Errorf("warnings: %s", s.warnings())
	}
}

func TestSecretInFileNameIsRedacted(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New(nil)
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{token: "x\n"})
	end := d.FindChanges(t.Context())
	if end == nil || end.Code != event.CodeSecret || !strings.Contains(end.Detail, ", in its name)") || strings.Contains(end.Detail, token) {
		t.Errorf("%+v", end)
	}
}

func TestLeaksInUserFileAreThoseOfTheCommit(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New(nil)
	writeFile(t, filepath.Join(s.repo, "mixed"), "key: "+token+"\n")
	writeFile(t, filepath.Join(s.repo, "untouched"), "key: "+token+"\n")
	spec := s.job("a")
	spec.Commit.Branch = tasks.CurrentBranch
	d := s.delivery(&tasks.Plan{AllowDirty: true}, spec, map[string]string{"own": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil {
		t.Errorf("the user's files are not committed, and: %+v", end)
	}
	writeFile(t, filepath.Join(s.repo, "mixed"), "key: "+token+"\nmore\n")
	end := d.FindChanges(t.Context())
	if end == nil || end.Code != event.CodeSecret || !strings.Contains(end.Detail, "mixed:1 (") || strings.Contains(end.Detail, "untouched") {
		t.Errorf("a file of both: %+v", end)
	}
	if !strings.Contains(s.warnings(), "previously uncommitted changes are committed together with those of the job in mixed") {
		t.Errorf("warnings: %s", s.warnings())
	}
}

func TestChangesOutsideTheWorkspaceAreAWarning(t *testing.T) {
	s := setUp(t)
	if err := os.Mkdir(filepath.Join(s.repo, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.repo, "web", "x"), "x\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "web")
	d := s.delivery(&tasks.Plan{}, spec, map[string]string{"y": "y\n", "../aside": "z\n"})
	if end := d.FindChanges(t.Context()); end != nil || !strings.Contains(s.warnings(), "changes outside of the workspace web are excluded: aside") {
		t.Errorf("%+v; warnings: %s", end, s.warnings())
	}
	if len(d.Changes.Changes) != 1 || d.Changes.Changes[0].Path != "web/y" {
		t.Errorf("the changes are %+v", d.Changes.Changes)
	}
	s.events = nil
	d.Options.Level = sandbox.Full // whose commands can't write there
	if err := d.warnOutsideWorkspace(t.Context()); err != nil || s.warnings() != "" {
		t.Errorf("%v; warnings: %s", err, s.warnings())
	}
}

func TestUnwritablePatch(t *testing.T) {
	s := setUp(t)
	if err := os.WriteFile(filepath.Join(s.opts.Dir.Path(), "patches"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"a": "x\n"})
	if end := d.FindChanges(t.Context()); end != nil || !strings.Contains(s.warnings(), "the changes are committed without it") || !d.Lost() {
		t.Errorf("%+v; warnings: %s", end, s.warnings())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if end := d.Commit(ctx); end != nil || d.Lost() {
		t.Errorf("nothing else keeps the work, and: %+v", end)
	}
	d.Job.Spec.Publish = tasks.PublishPatch
	if end := d.FindChanges(t.Context()); end == nil || end.Code != event.CodeCommit || !strings.HasPrefix(end.Detail, "save the patch of the job: ") {
		t.Errorf("the patch is the result, and: %+v", end)
	}
}
