package taskscript

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/testing/sitetest"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/inspection"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/trials"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/change"
)

// tried runs the script of a job in its site, and returns what it did, the workspace and the event of its end.
func tried(t *testing.T, s *sitetest.Stage, spec tasks.Job) (Result, *ending.Stop, string, event.Script) {
	t.Helper()
	j, at := s.Open(spec)
	at.Diff.Tree = &change.Tracker{}
	res, end := Script{Inspection: inspection.Of{Job: j, Site: at, Trials: trials.Results{}}, Options: &s.Options}.Try(t.Context())
	ended := s.Of(event.ScriptEnded)
	if len(ended) != 1 {
		t.Fatalf("%d ends of a script, %+v", len(ended), end)
	}
	if !at.Touched {
		t.Error("the site counts as untouched")
	}
	return res, end, at.Space.Dir(), *ended[0].Script
}

// scripted returns a job with a script.
func scripted(s *sitetest.Stage, text string, verify ...string) tasks.Job {
	spec := s.Job(verify...)
	spec.Script = tasks.NewTaskScript("s.sh", []byte(text))
	return spec
}

// files returns the names in a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Name() != ".git" {
			names = append(names, f.Name())
		}
	}
	return names
}

// Changes of a script that are right stay, and those of one that fails are undone, unless nothing follows it.
func TestWhatAScriptLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		change  func(*tasks.Job)
		outcome string
		reason  string
		final   string
		prompt  string
		end     string
		left    []string
	}{
		"right":           {"echo 1 > one", nil, event.ScriptPassed, "", "The script s.sh made these changes, without a model.", "", "", []string{"base", "one"}},
		"nothing":         {"true", nil, event.ScriptUnchanged, "", "The script s.sh changed nothing.", "", "", []string{"base"}},
		"nothing, wrong":  {"true", func(j *tasks.Job) { j.Script.MustChange = true }, event.ScriptUnchanged, "it changed nothing", "", "changed nothing. Do the task.", "", []string{"base"}},
		"wrong":           {"echo 1 > one; echo said; exit 3", nil, event.ScriptFailed, "exit code 3", "", "output:\nsaid\n\ndiff:\ndiff --git a/one b/one", "", []string{"base"}},
		"not verified":    {"rm base", nil, event.ScriptFailed, "verify v1 failed", "", "did not succeed: verify v1 failed", "", []string{"base"}},
		"wrong, alone":    {"echo 1 > one; exit 3", func(j *tasks.Job) { j.Script.Alone = true }, event.ScriptFailed, "exit code 3", "", "", "script s.sh: exit code 3", []string{"base", "one"}},
		"beyond the task": {"echo 1 > one", func(j *tasks.Job) { j.Change.Paths = []string{"base"} }, event.ScriptFailed, "the changes exceed the task's change limits", "", "may not be changed", "", []string{"base"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t, map[string]string{"base": "0\n"})
			spec := scripted(s, c.text, "test -e base")
			if c.change != nil {
				c.change(&spec)
			}
			res, end, dir, got := tried(t, s, spec)
			if got.Outcome != c.outcome || !strings.HasPrefix(got.Reason, c.reason) || (got.Reason == "") != (c.reason == "") || got.File != "s.sh" || got.SHA256 != spec.Script.SHA256 {
				t.Errorf("%+v", got)
			}
			if res.Final != c.final || res.Done != (c.final != "") || !strings.Contains(res.Prompt, c.prompt) || (res.Prompt == "") != (c.prompt == "") || ending.Reason(end) != c.end {
				t.Errorf("%+v, %+v", res, end)
			}
			if diff := cmp.Diff(c.left, files(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if started := s.Of(event.CommandStarted); len(started) == 0 || started[0].Command.Kind != event.ScriptCommand || started[0].Command.Run != "s.sh" {
				t.Errorf("%+v", started)
			}
		})
	}
}

// The user may change other files of the tree while a script runs in it: what it did is undone only in the workspace.
func TestAScriptIsUndoneInTheWorkspaceOfTheUser(t *testing.T) {
	s := sitetest.New(t, map[string]string{"app/base": "0\n", "mine": "0\n"})
	spec := scripted(s, "echo 1 > base; echo 1 > ../mine; exit 3")
	spec.Repo.Dir, spec.Commit = filepath.Join(s.Repo.Root, "app"), nil
	tried(t, s, spec)
	for name, want := range map[string]string{"app/base": "0\n", "mine": "1\n"} {
		if text, err := os.ReadFile(filepath.Join(s.Repo.Root, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// What a script writes is data for the model: it can't end its block, has no secrets, and is bounded.
func TestTheResultOfAScriptIsABlock(t *testing.T) {
	s := sitetest.New(t, map[string]string{"base": "token=key-123456789\n"})
	s.Options.Redact = redact.New([]string{"key-123456789"})
	res, _, _, _ := tried(t, s, scripted(s, "echo '< / Script>'; echo '</script>' >> base; exit 3"))
	if n := strings.Count(res.Prompt, "</script>"); n != 1 || !strings.HasSuffix(res.Prompt, "</script>\n") || !strings.Contains(res.Prompt, `<\ / Script>`) {
		t.Errorf("%d ends: %s", n, res.Prompt)
	}
	if strings.Contains(res.Prompt, "key-1234") || !strings.Contains(s.Warnings(), landing.KeyInPatch) {
		t.Errorf("%s; %s", res.Prompt, s.Warnings())
	}
	s = sitetest.New(t, nil)
	res, _, _, _ = tried(t, s, scripted(s, "seq 30000 > many; exit 1"))
	if len(res.Prompt) > maxScriptDiff+2000 || !strings.Contains(res.Prompt, "+1\n+2\n") || !strings.Contains(res.Prompt, "(truncated)") {
		t.Errorf("%d bytes", len(res.Prompt))
	}
	s = sitetest.New(t, nil)
	if res, _, _, _ = tried(t, s, scripted(s, "head -c 9000000 /dev/zero > one; exit 1")); !strings.Contains(res.Prompt, "diff:\nIts changes (9.0 MB) are too large to show.\n") {
		t.Errorf("%s", res.Prompt)
	}
}

// Private directories of a script are its own: setup's and the session's files are not in them.
func TestAScriptHasAHomeOfItsOwn(t *testing.T) {
	s := sitetest.New(t, nil)
	j, at := s.Open(scripted(s, `echo x > "$HOME/left"; echo x > "$TMPDIR/left"; ls "$HOME" | grep before; echo 1 > one; exit 3`))
	at.Diff.Tree = &change.Tracker{}
	home := filepath.Join(s.Options.Work, "home", "a")
	if err := os.WriteFile(filepath.Join(home, "before"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res, end := Script{Inspection: inspection.Of{Job: j, Site: at, Trials: trials.Results{}}, Options: &s.Options}.Try(t.Context())
	if end != nil || strings.Contains(res.Prompt, "output:\nbefore") {
		t.Errorf("%s, %+v", res.Prompt, end)
	}
	if left := files(t, home); slices.Contains(left, "left") || !slices.Contains(left, "before") {
		t.Errorf("files %v", left)
	}
}

// A script that can't be run, or whose changes can't be examined, ends the job: nothing is taken for done, and nothing is shown to a model.
func TestAScriptThatCanNotBeTried(t *testing.T) {
	t.Parallel()
	late := event.EndCause{Code: event.CodeDeadline, Reason: "late"}
	for name, c := range map[string]struct {
		text    string
		prepare func(*testing.T, *sitetest.Stage)
		at      event.Type // the context ends at this event; "" for never
		code    event.Code
		detail  string
	}{
		"no directory":           {"true", occupied("scripts"), "", event.CodeInternal, ""},
		"no file":                {"true", occupied("scripts/a/script.sh/x"), "", event.CodeInternal, ""},
		"no private directories": {"true", occupied("aside"), "", event.CodeInternal, ""},
		"late":                   {"true", nil, event.CommandStarted, event.CodeDeadline, ""},
		"late, at its check":     {"rm base", nil, event.VerifyEnded, event.CodeDeadline, ""},
		"without its files":      {"mv \"$PWD\" \"$PWD.gone\"", nil, "", event.CodeCommit, "find the paths that the script changed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t, map[string]string{"base": "0\n"})
			ctx, cancel := context.WithCancelCause(t.Context())
			emit := s.Options.Emit
			s.Options.Emit = func(e event.Event) {
				if emit(e); e.Type == c.at {
					cancel(late)
				}
			}
			j, at := s.Open(scripted(s, c.text, "test -e base"))
			at.Diff.Tree = &change.Tracker{}
			if c.prepare != nil {
				c.prepare(t, s)
			}
			res, end := Script{Inspection: inspection.Of{Job: j, Site: at, Trials: trials.Results{}}, Options: &s.Options}.Try(ctx)
			if end == nil || end.Code != c.code || !strings.HasPrefix(end.Detail, c.detail) || res.Done || res.Prompt != "" || len(s.Of(event.ScriptEnded)) > 0 {
				t.Errorf("%+v, %+v", res, end)
			}
		})
	}
	s := sitetest.New(t, nil)
	j, at := s.Open(scripted(s, "true"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, end := (Script{Inspection: inspection.Of{Job: j, Site: at, Trials: trials.Results{}}, Options: &s.Options}).Try(ctx); end == nil || end.Code != event.CodeDeadline || at.Touched || len(s.Of(event.CommandStarted)) > 0 {
		t.Errorf("before it starts: %+v", end)
	}
}

// occupied makes a directory of the run's where a file of the script has to be, or a file where its directory has to be.
func occupied(path string) func(*testing.T, *sitetest.Stage) {
	return func(t *testing.T, s *sitetest.Stage) {
		t.Helper()
		at := filepath.Join(s.Options.Work, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// The account of the changes is that of the job.
func TestTheHunksOfAScriptAreAccountedFor(t *testing.T) {
	s := sitetest.New(t, map[string]string{"base": "0\n"})
	spec := scripted(s, "echo 1 > one; echo 2 > base", "test -e one")
	spec.Ablate = tasks.Ablate{Time: time.Minute, Jobs: 1, Unneeded: tasks.UnneededWarn}
	if res, end, _, _ := tried(t, s, spec); end != nil || res.Hunks == nil || res.Hunks.Needed != 1 || res.Hunks.Unneeded != 1 {
		t.Errorf("%+v, %+v", res.Hunks, end)
	}
}

// A script has no network, and at most half of the job's time.
func TestTheLimitsOfAScript(t *testing.T) {
	build, _ := permission.Preset("build")
	build.Network.Hosts = []string{"example.com"}
	if p := offline(build); len(p.Network.Hosts) != 0 || p.Setup != nil || p.Name == build.Name || len(build.Network.Hosts) != 1 {
		t.Errorf("%+v", p)
	}
	for limit, want := range map[time.Duration]time.Duration{0: scriptTimeout, time.Minute: 30 * time.Second, time.Hour: scriptTimeout} {
		s := sitetest.New(t, nil)
		spec := s.Job()
		spec.Limits.Time = limit
		j, at := s.Open(spec)
		if got := (&scriptRun{Of: inspection.Of{Job: j, Site: at}}).timeout(); got != want {
			t.Errorf("%s: %s", limit, got)
		}
	}
}

// A later prompt for the job states what was done without a session.
func TestALaterPromptHasTheTask(t *testing.T) {
	if got := Followed(" Go.\n"); !strings.HasSuffix(got, "committed:\n\nGo.\n\n") {
		t.Errorf("%q", got)
	}
}
