package savedjob

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// passed returns a job that has passed and can be published.
func passed() *Job {
	return &Job{history.Publishable{
		Start: &event.JobStart{Base: "base", Landing: &event.Landing{Remote: "https://h.example/r.git", Branch: "b", Publish: string(tasks.PublishBranch)}},
		End:   &event.JobEnd{Outcome: event.Passed, Patch: "patches/a.patch", PatchSHA256: "sum"},
	}}
}

func TestJobsThatCantBePublishedHaveAReason(t *testing.T) {
	commit := &event.Commit{Hash: "c", Message: "m"}
	for reason, change := range map[string]func(*Job){
		"":                      func(*Job) {},
		"it did not end":        func(j *Job) { j.End = nil },
		"failed: x":             func(j *Job) { j.End = &event.JobEnd{Outcome: event.Failed, Reason: "x"} },
		"cancelled":             func(j *Job) { j.End = &event.JobEnd{Outcome: event.Cancelled} },
		"a hook failed":         func(j *Job) { j.End.Code, j.End.Reason = event.CodeHook, "a hook failed" },
		"its commit is of an e": func(j *Job) { j.Start = nil },
		"it has no changes":     func(j *Job) { j.End.Patch = "" },
		"its changes were not ": func(j *Job) { j.Start.Landing = nil },
		"its repository has no": func(j *Job) { j.Start.Landing.Remote = "" },
		"its branch is in the ": func(j *Job) { j.Start.Landing.PullRequest = &event.PullRequestSpec{Fork: "me/r"} },
		"it started in a repos": func(j *Job) { j.Start.Base = "" },
		"its commit is made an": func(j *Job) { j.Start.Landing.Sign = string(tasks.SignAPI) },
		"its commit is to be s": func(j *Job) { j.Start.Landing.Sign = "ssh" },
		"the checksum of its p": func(j *Job) { j.End.PatchSHA256 = "" },
	} {
		j := passed()
		change(j)
		got, done := j.Done(tasks.PublishPush)
		if (reason == "") != (got == "") || !strings.HasPrefix(got, reason) || done {
			t.Errorf("%q: %q, %t", reason, got, done)
		}
	}
	finished := passed() // and cancelled while it was published
	finished.End, finished.Commit = &event.JobEnd{Outcome: event.Cancelled}, commit
	if got, _ := finished.Done(tasks.PublishPush); got != "" {
		t.Errorf("a finished commit: %q", got)
	}
	pushed := passed()
	pushed.Commit, pushed.Published = commit, &event.Published{Hash: "c"}
	if got, done := pushed.Done(tasks.PublishPush); got != "published before" || !done {
		t.Errorf("pushed before: %q, %t", got, done)
	}
	if got, done := pushed.Done(tasks.PublishPR); got != "" || done {
		t.Errorf("without its pull request: %q, %t", got, done)
	}
	pushed.Commit = &event.Commit{Hash: "newer", Message: "m"}
	if got, _ := pushed.Done(tasks.PublishPush); got != "" {
		t.Errorf("with a newer commit: %q", got)
	}
	if mode := passed().Mode(); mode != tasks.PublishPR {
		t.Errorf("a job that was not to be pushed is published by %s", mode)
	}
}

// stage has a repository with a remote, and the reports of a run.
type stage struct {
	t                     *testing.T
	repo, remote, reports string
	run                   Run
	events                []event.Type
}

func setUp(t *testing.T) *stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, repo: filepath.Join(dir, "repo"), remote: filepath.Join(dir, "remote.git"), reports: filepath.Join(dir, "reports")}
	for _, d := range []string{"repo", "remote.git", "reports/patches", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.git(s.remote, "init", "-q", "--bare", "-b", "main")
	s.git(s.repo, "init", "-q", "-b", "main")
	s.write("a", "one\n")
	s.git(s.repo, "add", "-A")
	s.git(s.repo, "commit", "-q", "-m", "start")
	s.git(s.repo, "push", "-q", s.remote, "main")
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	s.run = Run{
		Git: gitdir.Env{GitProgram: program, Now: time.Now}, Reports: s.reports, Mirrors: filepath.Join(dir, "mirrors"), Work: filepath.Join(dir, "work"),
		Auth: func(string) remote.Auth { return remote.Auth{} }, Redact: redact.New([]string{"a-held-secret-42"}), Emit: func(e event.Event) { s.events = append(s.events, e.Type) },
	}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.repo, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) git(dir string, args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// job returns a job that has changed the file a and committed nothing.
func (s *stage) job(text string) *Job {
	s.t.Helper()
	s.write("a", text)
	patch := s.git(s.repo, "diff")
	s.git(s.repo, "checkout", "-q", "a")
	if err := os.WriteFile(filepath.Join(s.reports, "patches/a.patch"), []byte(patch), 0o600); err != nil {
		s.t.Fatal(err)
	}
	j := passed()
	j.Start.Base, j.Start.Repository = strings.TrimSpace(s.git(s.repo, "rev-parse", "HEAD")), s.repo
	j.Start.Landing.Remote, j.Start.Landing.Message = "file://"+s.remote, "Change a\n\nMillhand-Run: r1\nMillhand-Job: a\nMillhand-Task: x\n"
	j.End.PatchSHA256, j.Ended = hashOf([]byte(patch)), time.Unix(1700000000, 0)
	return j
}

func TestACommitIsMadeFromThePatchAndPushed(t *testing.T) {
	s := setUp(t)
	if err := s.run.Publish(t.Context(), "a", s.job("two\n"), tasks.PublishPush, publish.Facts{}); err != nil {
		t.Fatal(err)
	}
	if got := s.git(s.remote, "show", "b:a") + s.git(s.remote, "log", "-1", "--format=%an %ct %s", "b"); got != "two\nmillhand 1700000000 Change a\n" {
		t.Errorf("the remote has %q", got)
	}
	if diff := cmp.Diff([]event.Type{event.Committed, event.PublishStarted, event.CommitPublished}, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(s.run.Work); err != nil || len(left) > 0 {
		t.Errorf("the worktree is left: %v, %v", left, err)
	}
}

func TestWhatWasChangedOrIsForbiddenNowIsNotPublished(t *testing.T) {
	s := setUp(t)
	for want, test := range map[string]struct {
		text   string
		change func(*Job, *Run)
	}{
		"patches/a.patch was changed after the run":        {"two\n", func(j *Job, _ *Run) { j.End.PatchSHA256 = "other" }},
		"the changes contain secrets that were not in":     {"a-held-secret-42\n", func(*Job, *Run) {}},
		"the changes are not allowed by a policy: a":       {"two\n", func(_ *Job, r *Run) { r.Protected = []permission.Rule{permission.Protect("a", "p.yaml:1")} }},
		"the patch results in commit":                      {"two\n", func(j *Job, _ *Run) { j.Commit = made("0123456789") }},
		"the commit 0123456789 of session revert is not i": {"two\n", func(j *Job, _ *Run) { j.Commit, j.Reverted = made("0123456789"), "0123456789" }},
		"and the run has saved no patch":                   {"two\n", func(j *Job, _ *Run) { j.Commit, j.End.Patch = made("0123456789"), "" }},
	} {
		j, run := s.job(test.text), s.run
		test.change(j, &run)
		err := run.Publish(t.Context(), "a", j, tasks.PublishPush, publish.Facts{})
		if failed := (*publish.Failure)(nil); !errors.As(err, &failed) || !strings.Contains(failed.Detail, want) {
			t.Errorf("%s: %v", want, err)
		}
		if refs := s.git(s.remote, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main\n" {
			t.Errorf("%s: the remote has %s", want, refs)
		}
	}
}

func made(hash string) *event.Commit {
	return &event.Commit{Hash: hash, Message: "m", Author: "a <a@h.example> 1 +0000", Committer: "a <a@h.example> 1 +0000"}
}

func TestARevertIsRecognizedByItsTrailer(t *testing.T) {
	if !Reverts("Revert\n\nMillhand-Run: r\nMillhand-Reverts: abc\n", "abc") || Reverts("Revert\n\nMillhand-Reverts: abd\n", "abc") || RevertBranch("b") != "b-revert" {
		t.Error("which commits revert another one")
	}
	if err := (Run{}).Revert(t.Context(), "a", &Job{}, Inverse{}); err == nil || IsUnchanged(err) {
		t.Errorf("a job of an earlier release: %v", err)
	}
}

func TestWhatIsLeftBesideTheCommit(t *testing.T) {
	requests := []event.ForgeRequest{{ID: "a", Outcome: event.RequestDone}, {ID: "b", Outcome: event.RequestSkipped}, {ID: "c", Outcome: event.RequestRefused}, {ID: "d", Outcome: event.RequestFailed}}
	for want, change := range map[string]func(*Job){
		"a comment and 2 requests": func(*Job) {},
		"2 requests":               func(j *Job) { j.Commented = true },
		"a comment":                func(j *Job) { j.Start.Later.Requests = nil },
		"a comment and 1 request":  func(j *Job) { j.Requested = j.Requested[:2] },
		" of a failed one":         func(j *Job) { j.End.Outcome = event.Failed },
		" of a hook":               func(j *Job) { j.End.Code = event.CodeHook },
		" of an earlier release":   func(j *Job) { j.Start.Later = nil },
		" of one without an end":   func(j *Job) { j.End = nil },
		" after untrusted content": func(j *Job) { j.Untrusted = &event.Untrusted{Publish: "push"} },
	} {
		j := passed()
		j.Requested = requests
		j.Start.Later = &event.Later{Remote: "https://h.example/r.git", Comment: &event.CommentSpec{Number: 7}, Requests: &event.RequestLimits{}}
		change(j)
		if want, _, _ = strings.Cut(want, " of a"); strings.HasPrefix(want, " ") {
			want = ""
		}
		if got := j.Left().String(); got != want || j.Left().Any() != (want != "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	j := passed()
	if j.Settled() {
		t.Error("a job with a patch has nothing to push")
	}
	j.Start.Landing = nil
	if !j.Settled() {
		t.Error("a job without a commit has one to push")
	}
	j.Start.Later = &event.Later{Publish: "push", Remote: "r", Forge: "gitea"}
	if got := string(j.Mode()) + j.Remote() + j.Forge(); got != "pushrgitea" {
		t.Error(got)
	}
}
