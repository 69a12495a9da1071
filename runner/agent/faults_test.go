package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// What is wrong with the changes of an attempt is returned to the model, and ends the job after the last one.
func TestFaultsOfTheChanges(t *testing.T) {
	const command = `  - {calls: [{tool: bash, args: {command: "%"}}]}` + "\n  - {text: first}\n"
	for name, c := range map[string]struct {
		change   tasks.Change
		ablate   tasks.Unneeded
		verify   []tasks.Verify
		denied   string
		does     string // command of the first attempt
		feedback string // the next one is given this
		fixes    string // command of the next attempt
		end      ending.Stop
		warning  string
	}{
		"beyond the scope": {
			change: tasks.Change{Paths: []string{"base"}}, does: "echo 1 > one", feedback: "Your changes exceed the limits of the task", fixes: "rm one",
			end: ending.Stop{Code: event.CodeScope, Detail: "the changes exceed the task's change limits: one: may not be changed (paths: base)"},
		},
		"of a denied path": {
			denied: "base", does: "sh w.sh 1", feedback: `<denied path="base"`, fixes: "echo 0 > base",
			end: ending.Stop{Code: event.CodeProtected, Detail: `the job changed paths that its profile may not edit: base, by rule edit: {"base": deny} (m.yaml)`},
		},
		"of verify": {
			verify: []tasks.Verify{checks("v", "test -e two")}, does: "echo 1 > one", feedback: `<check name="v" result="exit code 1">`, fixes: "touch two",
			end: ending.Stop{Code: event.CodeFailed, Detail: "verify v failed after 1 attempt"},
		},
		"unneeded": {
			ablate: tasks.UnneededFail, verify: []tasks.Verify{checks("v", "true")}, does: "echo 1 > one", feedback: `<unneeded at="one [(]added[)]"`, fixes: "rm one",
			end: ending.Stop{Code: event.CodeUnneeded, Detail: "no verify command needs 1 hunk of the changes: one (added)"},
		},
		"unneeded, with a warning": {
			ablate: tasks.UnneededWarn, verify: []tasks.Verify{checks("v", "true")}, does: "echo 1 > one", warning: "no verify command needs 1 hunk of the changes: one (added)",
		},
		"markers, without a rebase": {does: "printf '<<<<<<< a\\\\n>>>>>>> b\\\\n' > one"},
		"needed":                    {ablate: tasks.UnneededFail, verify: []tasks.Verify{checks("v", "test -e one")}, does: "echo 1 > one"},
	} {
		for _, attempts := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				s := setUp(t)
				s.commit(map[string]string{"base": "0\n", "w.sh": "echo $1 > base"})
				spec := s.job("a")
				spec.Attempts, spec.Change, spec.Verify = attempts, c.change, c.verify
				if c.ablate != "" {
					spec.Ablate = tasks.Ablate{Time: time.Minute, Jobs: 1, Unneeded: c.ablate}
				}
				if c.denied != "" {
					spec.Profile.Rules = append(spec.Profile.Clone().Rules, permission.Rule{Permission: "edit", Pattern: c.denied, Source: "m.yaml"})
				}
				turns := strings.Replace(command, "%", c.does, 1)
				if attempts > 1 && c.feedback != "" {
					turns += asked(c.feedback, strings.Replace(command, "%", c.fixes, 1))
				}
				_, r, end := s.works(&tasks.Plan{}, spec, turns)
				switch {
				case c.feedback == "" && (end != nil || r.Attempts != 1), attempts > 1 && (end != nil || c.feedback != "" && r.Attempts != 2):
					t.Errorf("%+v, %+v", end, r)
				case c.feedback != "" && attempts == 1:
					if diff := cmp.Diff(&c.end, end); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
				if got := s.warnings(); got != c.warning {
					t.Errorf("warnings: %s", got)
				}
				if ablates := c.ablate != ""; (r.Hunks != nil) != (ablates && (attempts == 1 || c.feedback == "")) {
					t.Errorf("hunks %+v", r.Hunks)
				}
			})
		}
	}
}

// The trials of an attempt are not repeated for the same changes of the next one.
func TestTrialsOfTheNextAttempt(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Attempts, spec.Verify, spec.Ablate = 2, []tasks.Verify{checks("v", "true")}, tasks.Ablate{Time: time.Minute, Jobs: 2, Unneeded: tasks.UnneededFail}
	_, r, end := s.works(&tasks.Plan{}, spec, "  - {calls: [{tool: bash, args: {command: touch one}}]}\n  - {text: first}\n"+asked(`<unneeded at="one`, "  - {text: second}\n"))
	seen := map[string]int{}
	for _, e := range s.of(event.TrialEnded) {
		if seen[e.Trial.Key]++; seen[e.Trial.Key] > 1 {
			t.Errorf("trial %s was repeated", e.Trial.Key)
		}
	}
	if ablations := s.of(event.AblationEnded); end == nil || end.Code != event.CodeUnneeded || len(ablations) != 2 || len(seen) == 0 || r.Hunks == nil || r.Hunks.Unneeded != 1 {
		t.Errorf("%+v, %d accounts, trials %v, %+v", end, len(ablations), seen, r.Hunks)
	}
}

// A path that git would not commit is a fault of its own: the job can go on, and its commit fails.
func TestPathsThatGitWouldNotCommit(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Attempts = 2
	const nested = "  - {calls: [{tool: bash, args: {command: 'git init -q sub; echo 1 > sub/one'}}]}\n  - {text: first}\n"
	p, r, end := s.works(&tasks.Plan{}, spec, nested+asked("(?s)These paths can't be committed.*<refused path=\"sub\"", "  - {calls: [{tool: bash, args: {command: rm -rf sub/.git}}]}\n  - {text: second}\n"))
	if end != nil || r.Attempts != 2 || r.Final != "second" || filesIn(p.Dir, "sub/.git/HEAD", "sub/one") != "sub/one: 1" {
		t.Errorf("%+v, %+v, %s", end, r, filesIn(p.Dir, "sub/.git/HEAD", "sub/one"))
	}
	s = setUp(t)
	spec = s.job("a")
	if _, r, end = s.works(&tasks.Plan{}, spec, nested); end != nil || r.Attempts != 1 {
		t.Errorf("%+v, %+v", end, r)
	}
}

// Trials would only show that the verify commands fail without each hunk, too.
func TestChangesThatFailVerifyHaveNoTrials(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify, spec.Ablate = []tasks.Verify{checks("v", "false")}, tasks.Ablate{Time: time.Minute, Jobs: 1, Unneeded: tasks.UnneededFail}
	_, r, end := s.works(&tasks.Plan{}, spec, "  - calls: [{tool: bash, args: {command: \"echo 1 > one\"}}]\n  - {text: done}\n")
	if end == nil || end.Code != event.CodeFailed || r.Hunks != nil || len(s.of(event.AblationStarted)) > 0 {
		t.Errorf("%+v, %+v, %d accounts", end, r.Hunks, len(s.of(event.AblationStarted)))
	}
}
