package runner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
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
			if end := d.findChanges(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			if diff := cmp.Diff([]string{"x"}, d.lacking()); diff != "" || !d.lost() {
				t.Errorf("it lacks (-want +got):\n%s", diff)
			}
			end := d.commit(t.Context())
			if codeOf(end) != c.code || end != nil && !strings.HasPrefix(end.Detail, c.text) || d.made.Hash != "" {
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
	if end := d.findChanges(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	if diff := cmp.Diff([]string{"lost"}, d.lacking()); diff != "" {
		t.Errorf("it lacks (-want +got):\n%s", diff)
	}
	if end := d.commit(t.Context()); codeOf(end) != event.CodeCommit || !strings.HasPrefix(end.Detail, "lost can't be committed, and the saved state") {
		t.Errorf("%+v", end)
	}
}

// The texts of a pull request have the results of the job, without secrets.
func TestFactsOfAPullRequest(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	s.opts.About.StartedBy = &event.StartedBy{RunURL: "https://ci.example/held-by-millhand-1234"}
	spec := s.job("a")
	spec.Verify = []tasks.Verify{{Name: "tests"}, {Name: "held-by-millhand-1234"}}
	j := s.begin(&tasks.Plan{Name: "m"}, spec)
	d := &delivery{work: j.left(s.prepared(j))}
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
	label := func(name string) event.ForgeRequest { return event.ForgeRequest{Kind: event.LabelRequest, Label: name} }
	result := &ending.Result{Requests: []event.ForgeRequest{label("bug"), label("other")}}
	if j.requests.skip(result); len(s.of(event.ForgeRequestEnded)) > 0 || j.requests.due(result) {
		t.Error("a task without requests has some")
	}
	j.Spec.Requests = &tasks.Requests{Labels: []string{"bug"}, MaxLabels: 2}
	if !j.requests.due(result) || j.requests.due(nil) || j.requests.due(&ending.Result{}) {
		t.Error("it makes others than its result has")
	}
	j.requests.skip(result)
	j.requests.skip(result)
	var got []string
	for _, e := range s.of(event.ForgeRequestEnded) {
		r := e.ForgeRequest
		got = append(got, r.Label+" "+string(r.Outcome))
	}
	if diff := cmp.Diff([]string{"bug skipped", "other refused"}, got); diff != "" || s.of(event.ForgeRequestEnded)[0].ForgeRequest.Reason != "the job did not pass" || !strings.HasPrefix(s.warnings(), `request label "other": refused: `) {
		t.Errorf("warnings %q (-want +got):\n%s", s.warnings(), diff)
	}
	j.requests.answered = nil
	d := &delivery{work: j.left(s.prepared(j))}
	d.Result = &ending.Result{Requests: result.Requests[1:]}
	if end := d.request(t.Context()); end != nil || len(s.of(event.ForgeRequestEnded)) != 3 || len(s.of(event.ForgeRequestStarted)) > 0 {
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
		d := &delivery{work: j.left(nil)}
		d.Result = c.result
		if end := d.comment(t.Context()); end != nil || s.warnings() != c.warning {
			t.Errorf("%s: %+v, warnings %q", name, end, s.warnings())
		}
	}
}

// A job that has read untrusted content commits nothing where only a patch is allowed, and its end gives the reason.
func TestAMarkLimitsWhatLands(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	spec := s.job("a")
	spec.Publish, spec.FromEvent = tasks.PublishBranch, "event.title"
	spec.AfterUntrusted = &tasks.AfterUntrusted{Publish: tasks.PublishPatch, Source: "m.yaml:3"}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}})
	if end := s.of(event.JobEnded)[0].JobEnd; exit != event.ExitOK || !strings.Contains(end.Reason, "publish.mode branch is limited to patch") || end.Patch == "" || len(s.of(event.Committed)) > 0 {
		t.Errorf("exit %d, %+v", exit, end)
	}
}

// The start of a run has what limits it, and what it was made from.
func TestTheStartOfARunHasItsLimits(t *testing.T) {
	s := setUp(t)
	plan := &tasks.Plan{
		Manifests: []string{"m.yaml"}, Budget: tasks.Budget{CostUSD: money.Dollar}, Evidence: &tasks.Evidence{Sums: []string{"sum"}},
		Jobs: []tasks.Job{{ID: "a", Limits: tasks.Limits{Turns: 3, Time: time.Minute, Denials: 2}}},
	}
	got := Describe(plan, s.opts)
	if got.MaxCostUSD == nil || *got.MaxCostUSD != money.Dollar {
		t.Errorf("budget %v", got.MaxCostUSD)
	}
	want := &event.Evidence{Manifests: []event.PolicyFile{{Path: "m.yaml", SHA256: "sum"}}, Caps: map[string]event.Caps{"a": {Turns: 3, TimeMS: 60000, Denials: 2}}}
	if diff := cmp.Diff(want, got.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if got := Describe(&tasks.Plan{}, s.opts); got.MaxCostUSD != nil || got.Evidence != nil || got.Shard != nil {
		t.Errorf("without limits: %+v", got)
	}
}
