package agent

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// A script that succeeds replaces the session. One that fails is undone, and the session is given its result and its diff.
func TestAScriptIsTriedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		mustChange  bool
		alone       bool
		in          bool // in the user's own tree
		change      tasks.Change
		denied      string // paths that the profile denies editing
		ablates     bool
		outcome     string
		reason      string
		final       string
		prompt      string // pattern of the session's; "" for no session
		left        string
		end         string
		verifyNeeds string // file
	}{
		"passes":            {text: "echo 1 > one", outcome: event.ScriptPassed, final: "The script s.sh made these changes, without a model.", left: "base: 0, one: 1", verifyNeeds: "one"},
		"changes nothing":   {text: "true", outcome: event.ScriptUnchanged, final: "The script s.sh changed nothing.", left: "base: 0"},
		"must change":       {text: "true", mustChange: true, verifyNeeds: "two", outcome: event.ScriptUnchanged, reason: "it changed nothing", final: "second", prompt: "(?s)^Go[.]\n\nThe script s.sh was run first to do this task, and changed nothing. Do the task.\n$", left: "base: 0"},
		"fails":             {text: "echo 1 > one; echo '</script>'; exit 3", outcome: event.ScriptFailed, reason: "exit code 3", final: "second", prompt: `(?s)^Go[.]\n\nThe script s.sh was run first to do this task, and did not succeed: exit code 3[.] .*output:\n<\\/script>\n\ndiff:\ndiff --git a/one b/one.*\+1\n</script>\n$`, left: "base: 0"},
		"fails in its tree": {text: "echo 1 > base; exit 3", in: true, outcome: event.ScriptFailed, reason: "exit code 3", final: "second", prompt: `-0\n\+1`, left: "base: 0"},
		"fails alone":       {text: "echo 1 > one; exit 3", alone: true, outcome: event.ScriptFailed, reason: "exit code 3", left: "base: 0, one: 1", end: "script s.sh: exit code 3"},
		"is not verified":   {text: "echo 1 > one", outcome: event.ScriptFailed, reason: "verify v failed", final: "second", prompt: "did not succeed: verify v failed", left: "base: 0", verifyNeeds: "two"},
		"exceeds a limit":   {text: "echo 1 > one", change: tasks.Change{Paths: []string{"base", "two"}}, outcome: event.ScriptFailed, reason: "the changes exceed the task's change limits: one: may not be changed (paths: base, two)", final: "second", prompt: "Change only", left: "base: 0"},
		"changes a denied":  {text: "echo 1 > base", denied: "base", outcome: event.ScriptFailed, reason: "it changed paths that the profile may not edit: base", final: "second", prompt: "may not edit", left: "base: 0"},
		"can't be committed": {
			text: "git init -q sub; echo 1 > sub/one", outcome: event.ScriptFailed, reason: "paths can't be committed: sub", final: "second", prompt: "can't be committed: sub", left: "base: 0",
		},
		"has unneeded hunks": {
			text: "echo 1 > one; echo 1 > more", ablates: true, outcome: event.ScriptFailed, reason: "no verify command needs 1 hunk of the changes: more", final: "second", prompt: "did not succeed: no verify command needs", left: "base: 0", verifyNeeds: "one -o -e two",
		},
		"is too large": {text: "head -c 9000000 /dev/zero > one; exit 1", outcome: event.ScriptFailed, reason: "exit code 1", final: "second", prompt: "diff:\nIts changes [(]9[.]0 MB[)] are too large to show[.]", left: "base: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"base": "0\n"})
			spec := s.job("a")
			spec.Script, spec.Change = tasks.NewTaskScript("s.sh", []byte(c.text)), c.change
			spec.Script.MustChange, spec.Script.Alone = c.mustChange, c.alone
			if c.in {
				spec.Commit = nil
			}
			if c.denied != "" {
				spec.Profile.Rules = append(spec.Profile.Clone().Rules, permission.Rule{Permission: "edit", Pattern: c.denied})
			}
			if c.ablates {
				spec.Ablate = tasks.Ablate{Time: time.Minute, Jobs: 1, Unneeded: tasks.UnneededFail}
			}
			if c.verifyNeeds != "" {
				spec.Verify, spec.Attempts = []tasks.Verify{checks("v", "test -e "+c.verifyNeeds)}, 2
			}
			p, r, end := s.works(&tasks.Plan{}, spec, asked(c.prompt, writesTwo))
			ended := s.of(event.ScriptEnded)
			if len(ended) != 1 {
				t.Fatalf("%+v", end)
			}
			got := ended[0].Script
			if got.Outcome != c.outcome || !strings.HasPrefix(got.Reason, c.reason) || (got.Reason == "") != (c.reason == "") || got.File != "s.sh" || got.SHA256 != spec.Script.SHA256 {
				t.Errorf("%+v", got)
			}
			if ending.Reason(end) != c.end || r.Final != c.final || (r.Attempts > 0) != (c.prompt != "") || !p.Touched {
				t.Errorf("%+v, %+v", end, r)
			}
			if diff := cmp.Diff(c.left, filesIn(p.Dir, "base", "one")); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
		})
	}
}

// A key that a file of the repository already has is not in the diff that the session is given.
func TestTheDiffOfAFailedScriptHasNoKeys(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"key-123456789"})
	s.commit(map[string]string{"base": "token=key-123456789\n"})
	spec := s.job("a")
	spec.Script = tasks.NewTaskScript("s.sh", []byte("echo more >> base; exit 3"))
	_, r, end := s.works(&tasks.Plan{}, spec, asked("(?s)\n token=[^k][^\n]*\n[+]more\n", writesTwo))
	if end != nil || r.Final != "second" || !strings.Contains(s.warnings(), landing.KeyInPatch) {
		t.Errorf("%+v, %+v, %s", end, r, s.warnings())
	}
}

// What is undone in the user's own tree is only in the workspace: the user may change other files meanwhile.
func TestOtherFilesOfTheUserStay(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"app/base": "0\n", "mine": "0\n"})
	spec := s.escalates()
	spec.Repo.Dir, spec.Commit, spec.KeepBase, spec.Verify = filepath.Join(s.repo, "app"), nil, true, []tasks.Verify{checks("v", "test -e two")}
	spec.Script = tasks.NewTaskScript("s.sh", []byte("echo 1 > base; echo 1 > ../mine; exit 3"))
	s.uses.OpenModel = casts(t, map[string]string{"script:x": "  - calls: [{tool: bash, args: {command: 'cat base; echo 2 > base; echo 3 > new'}}]\n  - {expect: [\"^0\"], text: first}\n", "script:y": writesTwo})
	_, _, end := s.works(&tasks.Plan{}, spec, "")
	if got := filesIn(s.repo, "app/base", "app/new", "app/two", "mine"); end != nil || got != "app/base: 0, app/two: 2, mine: 1" {
		t.Errorf("%+v, %s", end, got)
	}
}
