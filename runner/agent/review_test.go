package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/instructions"
	"github.com/millhand/millhand/runner/review"
	"github.com/millhand/millhand/tasks"
)

const (
	accepts = `{text: '{"verdict": "accepted", "objections": []}'}`
	rejects = `{text: '{"verdict": "rejected", "objections": ["b:1 is wrong"]}'}`
	neither = `{text: Fine.}, {text: Fine.}, {text: Fine.}`
)

// turnsWithReviewer is a worker that writes a file, continues and ends, and a reviewer.
func turnsWithReviewer(more int, reviewer string) string {
	var b strings.Builder
	b.WriteString("  - calls: [{tool: write, args: {filePath: b, content: x}}]\n  - text: first\n")
	for i := range more {
		fmt.Fprintf(&b, "  - {text: again %d}\n", i)
	}
	return b.String() + "agents:\n  review: {turns: [" + reviewer + "]}\n"
}

func TestObjectionsAreReturnedOnce(t *testing.T) {
	blocked := func(detail string) *ending.Stop { return &ending.Stop{Code: event.CodeReview, Detail: detail} }
	const rejected, unreviewed = "the review rejected the changes: b:1 is wrong", "the changes were not reviewed: model response does not match the output schema: "
	for name, c := range map[string]struct {
		more     int // turns of the worker after the first attempt
		reviewer string
		block    bool
		verdicts string
		end      *ending.Stop
	}{
		"accepted":                   {0, accepts, false, "1 accepted", nil},
		"rejected, then accepted":    {1, rejects + "," + accepts, false, "1 rejected, 2 accepted", nil},
		"rejected twice":             {1, rejects + "," + rejects, false, "1 rejected, 2 rejected", nil},
		"rejected twice, blocked":    {1, rejects + "," + rejects, true, "1 rejected, 2 rejected", blocked(rejected)},
		"accepted later, blocking":   {1, rejects + "," + accepts, true, "1 rejected, 2 accepted", nil},
		"no verdict":                 {0, neither, false, "1 not_reviewed", nil},
		"two verdicts, blocked":      {0, `{text: '{"verdict": "rejected", "verdict": "accepted", "objections": []}'}`, true, "1 not_reviewed", blocked("the changes were not reviewed: the final message has more than one verdict")},
		"no verdict, blocked":        {0, neither, true, "1 not_reviewed", blocked(unreviewed)},
		"rejected without a reason":  {1, `{text: '{"verdict": "rejected", "objections": []}'},` + accepts, true, "1 rejected, 2 accepted", nil},
		"no verdict after a verdict": {1, rejects + "," + neither, true, "1 rejected, 2 not_reviewed", blocked(unreviewed)},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer, Block: c.block}
			_, r, end := s.works(&tasks.Plan{}, spec, turnsWithReviewer(c.more, c.reviewer))
			var verdicts []string
			for _, e := range s.of(event.ReviewEnded) {
				verdicts = append(verdicts, fmt.Sprintf("%d %s", e.Review.Attempt, e.Review.Verdict))
				if e.Session != "r1/a@review" || e.Review.Diff == "" || e.Review.Objections == nil {
					t.Errorf("%s: %+v", e.Session, e.Review)
				}
			}
			if got := strings.Join(verdicts, ", "); got != c.verdicts || r.Attempts != c.more+1 || r.Review == nil {
				t.Errorf("%s after %d attempts, %+v", got, r.Attempts, r.Review)
			}
			if (end == nil) != (c.end == nil) || end != nil && (end.Code != c.end.Code || !strings.HasPrefix(end.Detail, c.end.Detail)) {
				t.Errorf("ended with %+v, want %+v", end, c.end)
			}
		})
	}
}

// A reviewer continues where the process was killed, and is not given its prompt again.
func TestAReviewThatWasKilled(t *testing.T) {
	for name, c := range map[string]struct {
		kill     func(event.Event) bool
		reviewer string // in the second process
		turns    string
	}{
		"in a call":    {inCall("r1/a@review", 1), "{expect: [\"1: x\"], " + accepts[1:] + ", {text: left}", "1, 2"},
		"in a request": {func(e event.Event) bool { return e.Type == event.TurnStarted && e.Session == "r1/a@review" }, "{expect: [\"Review the changes after attempt 1\"], " + accepts[1:], "1 lost, 2"},
		"at its start": {func(e event.Event) bool { return e.Type == event.SessionStarted && e.Session == "r1/a@review" }, "{expect: [\"Review the changes after attempt 1\"], " + accepts[1:], "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
			s.kill = c.kill
			s.works(&tasks.Plan{}, spec, turnsWithReviewer(0, "{calls: [{tool: read, args: {filePath: b}}], usage: {input: 7}}, {text: never}"))
			s.next(history.Order{})
			_, r, end := s.works(&tasks.Plan{}, spec, "  - text: never\nagents:\n  review: {turns: ["+c.reviewer+"]}\n")
			if end != nil || r.Attempts != 1 || r.Review == nil || r.Review.Verdict != event.ReviewAccepted || s.turnsOf() != c.turns {
				t.Errorf("%+v, %+v, turns %s", end, r.Review, s.turnsOf())
			}
		})
	}
}

// A reviewer is shown the hunks that ablation has accounted for, and what it has objected to before; the prompts of the task and
// of its author.
func TestWhatAReviewerIsShown(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify, spec.Ablate = []tasks.Verify{checks("v", "test -e b")}, tasks.Ablate{Time: time.Minute, Jobs: 1}
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer, Prompt: "Be strict."}
	spec.Limits.Time = time.Hour
	s.works(&tasks.Plan{}, spec, turnsWithReviewer(1, `{expect: ["Go[.]", "Be strict[.]", "1 of 1 hunk needed", "\\+x"], `+rejects[1:]+`, {expect: ["after attempt 2", "b:1 is wrong"], `+accepts[1:]))
	if got := s.of(event.ReviewEnded); len(got) != 2 || got[1].Review.Verdict != event.ReviewAccepted || got[0].Review.Model != "script:x" {
		t.Errorf("%+v", got)
	}
	s.next(history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
	s.works(&tasks.Plan{}, spec, "  - calls: [{tool: write, args: {filePath: c, content: y}}]\n  - text: second\nagents:\n  review: {turns: [{expect: [\"More[.]\"], "+accepts[1:]+"]}\n")
	if got := s.of(event.ReviewEnded); len(got) != 1 || got[0].Review.Attempt != 3 || got[0].Review.Verdict != event.ReviewAccepted {
		t.Errorf("of a follow-up: %+v", got)
	}
}

func TestAReviewerIsShownWhatNoVerifyCommandNeeds(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify, spec.Ablate, spec.Review = []tasks.Verify{checks("v", "test -e b")}, tasks.Ablate{Time: time.Minute, Jobs: 1}, &tasks.Review{Agent: tasks.DefaultReviewer}
	s.works(&tasks.Plan{}, spec, "  - calls: [{tool: write, args: {filePath: b, content: x}}, {tool: write, args: {filePath: more, content: y}}]\n  - text: done\nagents:\n"+
		"  review: {turns: [{expect: [\"1 of 2 hunks needed\", \"needed by nothing: more [(]added[)]\"], "+accepts[1:]+"]}\n")
	if got := s.of(event.ReviewEnded); len(got) != 1 || got[0].Review.Verdict != event.ReviewAccepted {
		t.Errorf("%+v", got)
	}
}

// A reviewer whose model can't be opened reviews nothing.
func TestAReviewerThatCantBeOpened(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
	play := plays(t, turnsWithReviewer(0, accepts))
	s.uses.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		if child != "" {
			return opened.Conversation{}, errors.New("no such model")
		}
		return play(j, child, on)
	}
	if _, r, end := s.works(&tasks.Plan{}, spec, ""); end != nil || r.Review == nil || r.Review.Verdict != event.NotReviewed || r.Review.Reason != "no such model" {
		t.Errorf("%+v, %+v", end, r.Review)
	}
}

// A retried request of a reviewer is one of its session.
func TestRequestsOfAReviewerAreRetried(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
	play := plays(t, turnsWithReviewer(0, accepts))
	s.uses.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		if child == "" {
			return play(j, child, on)
		}
		return opened.Conversation{Model: requestFunc(func(model.Request) (model.Response, error) {
			on.Retry(event.Retry{})
			on.Pause()()
			return model.Response{Text: `{"verdict": "accepted", "objections": []}`}, nil
		})}, nil
	}
	_, r, end := s.works(&tasks.Plan{}, spec, "")
	if end != nil || r.Review == nil || r.Review.Verdict != event.ReviewAccepted {
		t.Errorf("%+v, %+v", end, r.Review)
	}
	if made := s.of(event.RequestRetried); len(made) != 1 || made[0].Session != "r1/a@review" {
		t.Errorf("%+v", made)
	}
}

// A reviewer without the skills of the base reviews nothing.
func TestSkillsOfTheBaseThatAreTooLarge(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{".agents/skills/x/data": strings.Repeat("x", maxSkillBytes+1)})
	spec := s.job("a")
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
	if _, r, _ := s.works(&tasks.Plan{}, spec, turnsWithReviewer(0, accepts)); r.Review == nil || r.Review.Reason != "read the skills of the base: they are too large" {
		t.Errorf("%+v", r.Review)
	}
}

func TestUnchangedJobsAreNotReviewed(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = []tasks.Verify{{Name: "ok", Run: "true", Time: time.Minute}}
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer, Block: true}
	_, r, end := s.works(&tasks.Plan{}, spec, "  - text: nothing to do\nagents:\n  review: {turns: ["+accepts+"]}\n")
	if end != nil || r.Review != nil || len(s.of(event.ReviewEnded)) > 0 {
		t.Errorf("%+v, %+v", end, r.Review)
	}
}

// A review that ended is that of the same changes, and another one follows if they differ.
func TestEndedReviewsAreNotRepeated(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
	j := s.begin(&tasks.Plan{}, spec)
	w := newWork(j, s.prepared(j))
	ended := []event.Review{{Attempt: 1, Diff: "one", Verdict: event.ReviewRejected, Objections: []string{"x"}}, {Attempt: 2, Diff: "two", Verdict: event.ReviewAccepted}}
	for name, c := range map[string]struct {
		intent   history.Intent
		diff     string
		attempts int
		known    bool
		more     int
	}{
		"killed after the review":       {history.Resume{}, "one", 1, true, 0},
		"killed in the next attempt":    {history.Resume{}, "two", 2, true, 1},
		"with other changes since then": {history.Resume{}, "other", 2, false, 1},
		"started again":                 {history.Start{}, "one", 1, false, 0},
	} {
		facts := &history.Facts{}
		for _, done := range ended {
			facts.Add(event.Event{Type: event.ReviewEnded, Review: &done})
		}
		j.History = history.Job{Facts: facts, Intent: c.intent}
		w.result.Attempts = c.attempts
		r := newReviews(w)
		_, known := r.earlier(review.Material{Attempt: c.attempts, Diff: review.Diff{SHA256: c.diff}})
		if known != c.known || r.more() != c.more {
			t.Errorf("%s: known: %t, %d more attempts", name, known, r.more())
		}
	}
}

func TestReviewerReadsOnly(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Limits = tasks.Limits{Turns: 7, Denials: 50}
	spec.Review = &tasks.Review{Agent: "own", Model: tasks.Model{ID: "script:y", Name: "script:y"}}
	j := s.begin(&tasks.Plan{Agents: []tasks.Agent{{Name: "own", Turns: 5}}}, spec)
	r := newReviews(newWork(j, s.prepared(j)))
	got := r.sessionSpec()
	if got.task.Model != "script:y" || got.parent != "r1/a" || got.name != "a@review" || got.task.Limits.Turns != 5 || got.task.Limits.Denials != reviewDenials {
		t.Errorf("%+v", got.task.Limits)
	}
	for _, tool := range []string{"bash", "edit", "webfetch", "todowrite"} {
		if !got.task.Profile.Hides(tool) {
			t.Errorf("it may use %s", tool)
		}
	}
	if got.task.Profile.Hides("read") || got.task.Profile.Hides("grep") {
		t.Error("it may not read")
	}
	var none *reviews
	if text, end := none.hold(t.Context(), nil); text != "" || end != nil || none.more() != 0 {
		t.Error("a job without a review is reviewed")
	}
}

func TestSkillsOfTheBase(t *testing.T) {
	s := setUp(t)
	file := filepath.Join(s.repo, ".agents/skills/look/SKILL.md")
	mkdirFor(t, file)
	writeFile(t, file, "---\nname: look\ndescription: d\n---\nbase\n")
	if err := os.Symlink("SKILL.md", filepath.Join(filepath.Dir(file), "COPY.md")); err != nil { // is left out
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.repo, "AGENTS.md"), "base notes")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	spec := s.job("a")
	spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	r := newReviews(newWork(j, p))
	changed := filepath.Join(p.Dir, ".agents/skills/look/SKILL.md")
	writeFile(t, changed, "---\nname: look\ndescription: changed\n---\npatch\n")
	writeFile(t, filepath.Join(p.Dir, "AGENTS.md"), "patched notes")
	if j.History.Facts = (&history.Facts{First: "first"}); r.base() != "first" {
		t.Errorf("the base of a job that was rebased is %s", r.base())
	}
	j.History.Facts = nil
	found, err := r.skills()
	if err != nil || len(found.List) != 1 || found.List[0].Description != "d" {
		t.Fatalf("%v, %+v", err, found)
	}
	if text, err := os.ReadFile(filepath.Join(found.List[0].Dir, "SKILL.md")); err != nil || !strings.Contains(string(text), "base") {
		t.Errorf("%s, %v", text, err)
	}
	var notes []string
	for _, n := range (instructions.Of{Job: j.Job, Site: p}).At(r.base(), r.sessionSpec().task.Profile) {
		notes = append(notes, n.Name+": "+n.Text)
	}
	if diff := cmp.Diff([]string{"AGENTS.md: base notes"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
