package delivery

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// A repository in the workspace is no change that git can commit: a commit or patch would lack it.
func TestARepositoryInTheWorkspace(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tasks.Job)
		code   event.Code
		text   string
	}{
		"a commit":     {func(*tasks.Job) {}, event.CodeNested, "can't commit: nested git repository: x"},
		"a patch":      {func(j *tasks.Job) { j.Publish = tasks.PublishPatch }, event.CodeCommit, "the patch lacks what can't be committed: x"},
		"the own tree": {func(j *tasks.Job) { j.Commit = nil }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			c.change(&spec)
			d := s.delivery(&tasks.Plan{}, spec, map[string]string{"new": "x\n"})
			at := filepath.Join(d.Site.Space.Dir(), "x")
			mkdirFor(t, filepath.Join(at, "f"))
			git(t, at, "init", "-q")
			git(t, at, "commit", "-q", "--allow-empty", "-m", "nested")
			if end := d.FindChanges(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			if diff := cmp.Diff([]string{"x"}, d.Lacking()); diff != "" || !d.Lost() {
				t.Errorf("it lacks (-want +got):\n%s", diff)
			}
			end := d.Commit(t.Context())
			if codeOf(end) != c.code || end != nil && !strings.HasPrefix(end.Detail, c.text) || d.Made.Hash != "" {
				t.Errorf("%+v", end)
			}
		})
	}
}

// What an earlier process could not save is missing until the working tree has it again.
func TestFilesThatAnEarlierProcessCouldNotSave(t *testing.T) {
	s := setUp(t)
	d := s.delivery(&tasks.Plan{}, s.job("a"), map[string]string{"new": "x\n"})
	d.Job.History = history.Job{Facts: &history.Facts{End: &event.JobEnd{Refused: []string{"lost", "new"}}}, Intent: history.Resume{}}
	if end := d.FindChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if diff := cmp.Diff([]string{"lost"}, d.Lacking()); diff != "" {
		t.Errorf("it lacks (-want +got):\n%s", diff)
	}
	if end := d.Commit(t.Context()); codeOf(end) != event.CodeCommit || !strings.HasPrefix(end.Detail, "lost can't be committed, and the saved state") {
		t.Errorf("%+v", end)
	}
}

// The texts of a pull request have the results of the job, without secrets.
func TestFactsOfAPullRequest(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	spec := s.job("a")
	spec.Verify = []tasks.Verify{{Name: "tests"}, {Name: "held-by-millhand-1234"}}
	j := s.begin(&tasks.Plan{Name: "m"}, spec)
	d := &Delivery{Work: s.left(j, s.prepared(j))}
	d.RunURL = "https://ci.example/held-by-millhand-1234"
	earlier := d.facts()
	if earlier.Session != nil || earlier.Hunks != "" || earlier.Verify[0] != (publish.Verify{Name: "tests", Before: "not run"}) {
		t.Errorf("of an earlier run: %+v", earlier)
	}
	d.Baseline = []event.Baseline{{Name: "tests", ExitCode: 1}}
	d.Result = &ending.Result{Final: "Done. held-by-millhand-1234", Totals: event.Totals{Turns: 3, Denied: 1}, Hunks: &event.Hunks{Needed: 2}, Review: &event.Review{Attempt: 1}}
	cost := d.Result.Totals.Cost.USD()
	want := publish.Facts{
		Run: "r1", Task: "a", Name: "m", RunURL: "https://ci.example/" + redact.Mark, Message: d.message(""),
		Session: &publish.Session{Summary: "Done. " + redact.Mark, Model: "script:x", Profile: "build", Turns: 3, Denied: 1, CostUSD: cost},
		Verify:  []publish.Verify{{Name: "tests", Before: d.Baseline[0].Result()}, {Name: redact.Mark, Before: "not run"}}, Hunks: d.Result.Hunks.Line(), Reviewed: d.Result.Review,
	}
	got := d.facts()
	if len(got.LeftOut) == 0 {
		got.LeftOut = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Requests of a job that did not pass, and refused ones, are reported, each once.
func TestRequestsThatAreNotMade(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	d := &Delivery{Work: s.left(j, s.prepared(j))}
	label := func(name string) event.ForgeRequest { return event.ForgeRequest{Kind: event.LabelRequest, Label: name} }
	result := &ending.Result{Requests: []event.ForgeRequest{label("bug"), label("other")}}
	if d.Requests.Skip(result); len(s.of(event.ForgeRequestEnded)) > 0 || d.Requests.Due(result) {
		t.Error("a task without requests has some")
	}
	j.Spec.Requests = &tasks.Requests{Labels: []string{"bug"}, MaxLabels: 2}
	if !d.Requests.Due(result) || d.Requests.Due(nil) || d.Requests.Due(&ending.Result{}) {
		t.Error("it makes others than its result has")
	}
	d.Requests.Skip(result)
	d.Requests.Skip(result)
	var got []string
	for _, e := range s.of(event.ForgeRequestEnded) {
		r := e.ForgeRequest
		got = append(got, r.Label+" "+string(r.Outcome))
	}
	if diff := cmp.Diff([]string{"bug skipped", "other refused"}, got); diff != "" || s.of(event.ForgeRequestEnded)[0].ForgeRequest.Reason != "the job did not pass" || !strings.HasPrefix(s.warnings(), `request label "other": refused: `) {
		t.Errorf("warnings %q (-want +got):\n%s", s.warnings(), diff)
	}
	d.Requests.answered = nil
	d.Result = &ending.Result{Requests: result.Requests[1:]}
	if end := d.Request(t.Context()); end != nil || len(s.of(event.ForgeRequestEnded)) != 3 || len(s.of(event.ForgeRequestStarted)) > 0 {
		t.Errorf("a refused request: %+v", end)
	}
}

// A comment needs a message, and is posted once.
func TestCommentsThatAreNotPosted(t *testing.T) {
	posted := history.Job{Facts: &history.Facts{Comment: &event.Comment{}}, Intent: history.Resume{}}
	for name, c := range map[string]struct {
		spec    *tasks.Comment
		past    history.Job
		result  *ending.Result
		warning string
	}{
		"no comment":        {nil, history.Job{}, &ending.Result{Final: "ok"}, ""},
		"of an earlier run": {&tasks.Comment{}, history.Job{}, nil, ""},
		"posted before":     {&tasks.Comment{}, posted, &ending.Result{Final: "ok"}, ""},
		"no message":        {&tasks.Comment{}, history.Job{}, &ending.Result{}, "no comment was posted: the final message is empty"},
	} {
		s := setUp(t)
		j := s.begin(&tasks.Plan{}, s.job("a"))
		j.Spec.Comment, j.History = c.spec, c.past
		d := &Delivery{Work: s.left(j, nil)}
		d.Result = c.result
		if end := d.Comment(t.Context()); end != nil || s.warnings() != c.warning {
			t.Errorf("%s: %+v, warnings %q", name, end, s.warnings())
		}
	}
}

func TestPublishPushesWhatWasCommitted(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish = tasks.PublishPush
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	hash := git(t, s.repo, "commit-tree", "-p", p.Base, "-m", "work", "HEAD^{tree}")
	d := &Delivery{Work: s.left(j, p)}
	if end := d.Publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was committed, and: %+v", end)
	}
	d.Made = gitops.CommitResult{Hash: hash, Branch: "millhand/a"}
	j.Spec.Publish = tasks.PublishBranch
	if end := d.Publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was to be pushed, and: %+v", end)
	}
	j.Spec.Publish = tasks.PublishPush
	if end := d.Publish(t.Context()); end != nil || at(t, url, "millhand/a") != hash {
		t.Fatalf("%+v; the branch is at %q", end, at(t, url, "millhand/a"))
	}
	told := s.of(event.CommitPublished)
	want := &event.Published{Remote: url, Branch: "millhand/a", Hash: hash}
	if len(told) != 1 {
		t.Fatalf("told %+v", told)
	}
	if diff := cmp.Diff(want, told[0].Published); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	d.Made.Hash = git(t, s.repo, "commit-tree", "-m", "other", "HEAD^{tree}")
	end := d.Publish(t.Context())
	if end == nil || end.Code != event.CodeLease || !strings.Contains(end.Detail, "push branch millhand/a to ") || !strings.HasSuffix(end.Detail, "the changes are saved as a patch") {
		t.Errorf("a branch that is there: %+v", end)
	}
	j.Start.Earlier.Hash = hash
	if end = d.Publish(t.Context()); end == nil || !strings.HasSuffix(end.Detail, "the changes are on the branch") {
		t.Errorf("of an earlier run: %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	if end = d.Publish(ctx); end == nil || end.Code != event.CodeTerminated || !strings.Contains(s.warnings(), "was in progress when the run ended") {
		t.Errorf("after a signal: %+v; warnings: %s", end, s.warnings())
	}
}

// The forge can't make the first commit of a repository: the job ends, and nothing is pushed.
func TestTheForgeMakesNoFirstCommit(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish = tasks.PublishPush
	j := s.begin(&tasks.Plan{}, spec)
	j.Spec.Commit.Sign = tasks.SignAPI
	j.Start.Signer.Client = &forge.Client{}
	d := &Delivery{Work: s.left(j, s.prepared(j)), Made: gitops.CommitResult{Hash: git(t, s.repo, "commit-tree", "-m", "first", "HEAD^{tree}"), Branch: "millhand/a"}}
	if end := d.Publish(t.Context()); end == nil || end.Detail != "read the commit: it has no parent" || at(t, url, "millhand/a") != "" {
		t.Errorf("%+v; the branch is at %s", end, at(t, url, "millhand/a"))
	}
}

func TestPublishInPlacePushesOnTopOfTheBase(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish, spec.Commit.Branch = tasks.PublishPush, tasks.CurrentBranch
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	d := &Delivery{Work: s.left(j, p), Made: gitops.CommitResult{Hash: git(t, s.repo, "commit-tree", "-p", p.Base, "-m", "work", "HEAD^{tree}"), Branch: "main"}}
	if end := d.Publish(t.Context()); end != nil || at(t, url, "main") != d.Made.Hash {
		t.Errorf("%+v; main is at %s", end, at(t, url, "main"))
	}
	if told := s.of(event.CommitPublished); len(told) != 1 || told[0].Published.Replaced != p.Base {
		t.Errorf("told %+v", told)
	}
	if end := d.Publish(t.Context()); end == nil || end.Code != event.CodeLease {
		t.Errorf("main is not where the job began, and: %+v", end)
	}
}
