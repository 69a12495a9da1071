package policies

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
)

// process is a process in a directory with files, given as name, text, name, text...
func process(t *testing.T, files ...string) (w world.World, dir string, out *strings.Builder) {
	t.Helper()
	dir, out = t.TempDir(), &strings.Builder{}
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return world.World{Dir: dir, Out: out, Err: t.Output(), Now: time.Now, System: []string{t.TempDir()}, Getenv: func(string) string { return "" }}, dir, out
}

const gitOnly = `version: 1
profiles:
  git: {extends: readonly, permission: {bash: {"git *": allow, "git push *": deny}}}
`

func TestExplainNamesTheRuleThatDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		profile, tool, subject string
		exit                   event.Exit
		want                   []string // lines that start so
		not                    string
	}{
		"allowed by a rule":       {"git", "bash", "git log", event.ExitOK, []string{"allow", `bash: {"git *": allow} (`}, "allowed instead"},
		"denied by a rule":        {"git", "bash", "git push origin", event.ExitPolicy, []string{"deny", `bash: {"git push *": deny} (`}, "allow\n"},
		"denied because of none":  {"git", "bash", "ls", event.ExitPolicy, []string{"deny", `bash "ls": `, "allowed instead: ", "  deny   "}, "allow\n"},
		"one of several commands": {"git", "bash", "git log && git push origin", event.ExitPolicy, []string{"deny", "  allow  ", "  deny   "}, "allow\n"},
		"a preset":                {"readonly", "read", "a.txt", event.ExitOK, []string{"allow"}, "deny"},
		"full is the default":     {"", "bash", "rm -r x", event.ExitOK, []string{"allow"}, "deny"},
		"an unknown profile":      {"none", "read", "a.txt", event.ExitUsage, nil, ""},
		"an unknown tool":         {"git", "no such tool", "x", event.ExitPolicy, []string{"deny"}, "allow\n"},
		"an invalid subject":      {"full", "read", "a\x00b", event.ExitUsage, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir, out := process(t, "m.yaml", gitOnly)
			o := ExplainOptions{Tool: c.tool, Subject: c.subject}
			o.Profile, o.Manifest = c.profile, filepath.Join(dir, "m.yaml")
			err := Explain(t.Context(), w, o)
			if fault.ExitOf(err) != c.exit || (err != nil && err.Error() == "") != (c.exit == event.ExitPolicy) {
				t.Errorf("exit code %d, %v", fault.ExitOf(err), err)
			}
			text := "\n" + out.String()
			for _, line := range c.want {
				if !strings.Contains(text, "\n"+line) {
					t.Errorf("no line %q in %s", line, text)
				}
			}
			if c.not != "" && strings.Contains(text, c.not) || c.want == nil && out.Len() > 0 || strings.Contains(text, "untrusted") || strings.Contains(text, "kernel") {
				t.Errorf("printed %s", text)
			}
		})
	}
}

func TestExplainShowsWhatIsLeftAfterUntrustedContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ policy, tool, subject, want string }{
		{"{network: deny}", "webfetch", "https://example.com/", "after untrusted content: deny; after_untrusted: {network: deny} ("},
		{"{network: deny}", "bash", "ls", "after untrusted content: allow; after_untrusted: {network: deny} ("},
		{"{bash: none}", "bash", "ls", "after untrusted content: deny; after_untrusted: {bash: none} ("},
		{"{bash: none}", "read", "a.txt", "after untrusted content: allow; after_untrusted: {bash: none} ("},
	} {
		w, dir, out := process(t, "p.yaml", "version: 1\nafter_untrusted: "+c.policy+"\n")
		o := ExplainOptions{Tool: c.tool, Subject: c.subject}
		o.Policies = []string{filepath.Join(dir, "p.yaml")}
		if err := Explain(t.Context(), w, o); err != nil || !strings.Contains(out.String(), "\n"+c.want) {
			t.Errorf("%+v: %v, %s", c, err, out)
		}
		o.Profile, o.Tool, o.Subject = "readonly", "bash", "rm x"
		out.Reset()
		if err := Explain(t.Context(), w, o); fault.ExitOf(err) != event.ExitPolicy || strings.Contains(out.String(), "untrusted") {
			t.Errorf("a call that is denied before: %v, %s", err, out)
		}
	}
}

func TestExplainShowsWhatTheKernelHides(t *testing.T) {
	t.Parallel()
	w, dir, out := process(t)
	system, manifest := w.System[0], filepath.Join(dir, "m.yaml")
	rules := "version: 1\nprofiles: {p: {extends: full, permission: {external_read: {'" + system + "/*': allow}}}}\n"
	private, public := filepath.Join(system, "private"), filepath.Join(system, "public")
	if err := errors.Join(os.WriteFile(manifest, []byte(rules), 0o600), os.Mkdir(private, 0o700), os.WriteFile(public, nil, 0o600), os.Chmod(public, 0o644), os.Symlink(private, filepath.Join(system, "symlink"))); err != nil {
		t.Fatal(err)
	}
	hidden := hides(sandbox.Probe(t.Context(), "").Best)
	for subject, want := range map[string]string{
		filepath.Join(private, "key"): "kernel: hidden here (in " + private + ": 0700, ",
		private:                       "kernel: hidden here (0700, ",
		system + "/symlink":           "kernel: hidden here (0700, ",
		public:                        "",
		"a.txt":                       "",
	} {
		out.Reset()
		o := ExplainOptions{Tool: "bash", Subject: "cat " + subject}
		o.Profile, o.Manifest = "p", manifest
		if err := Explain(t.Context(), w, o); err != nil || strings.Contains(out.String(), "\nkernel: ") != (hidden && want != "") || hidden && !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %s", subject, err, out)
		}
	}
	out.Reset()
	o := ExplainOptions{Tool: "bash", Subject: "cat " + private}
	if err := Explain(t.Context(), w, o); fault.ExitOf(err) != event.ExitPolicy || strings.Contains(out.String(), "kernel") {
		t.Errorf("a file that a rule denies: %v, %s", err, out)
	}
	if text := describeHidden(filepath.Join(system, "gone", "key"), filepath.Join(system, "gone")); text != "hidden here" {
		t.Errorf("a directory that was removed: %s", text)
	}
	for level, want := range map[sandbox.Level]bool{sandbox.Full: true, sandbox.Partial: true, sandbox.None: false, sandbox.Outside: false} {
		if hides(level) != want {
			t.Errorf("level %s hides files: %t", level, !want)
		}
	}
}

func TestTheExamplesOfAllProfilesAreCounted(t *testing.T) {
	t.Parallel()
	manifest := func(effect string) string {
		return "version: 1\nmodel: script:model.yaml\nprofiles:\n  a: {extends: readonly, examples: [{deny: bash, subject: ls}, {allow: read, subject: x}]}\n  b: {extends: full, examples: [{" +
			effect + ": bash, subject: ls}]}\ntasks:\n  - {id: a, prompt: Look., profile: a, repos: [{path: .}]}\n  - {id: b, prompt: Look., profile: b, repos: [{path: .}]}\n"
	}
	w, dir, out := process(t, "right.yaml", manifest("allow"), "wrong.yaml", manifest("deny"), "model.yaml", "version: 1\nturns: [{text: Done.}]\n")
	if err := Test(t.Context(), w, load.Options{Manifests: []string{filepath.Join(dir, "right.yaml")}}); err != nil || out.String() != "3 examples passed\n" {
		t.Errorf("%v, %s, %v", err, out, fault.ProblemsOf(err))
	}
	out.Reset()
	err := Test(t.Context(), w, load.Options{Manifests: []string{filepath.Join(dir, "wrong.yaml")}})
	if found := fault.ProblemsOf(err); fault.ExitOf(err) != event.ExitUsage || len(found) != 1 || found[0].Line != 5 || out.Len() > 0 {
		t.Errorf("%v, %v, %s", err, found, out)
	}
	if err := Test(t.Context(), w, load.Options{Manifests: []string{filepath.Join(dir, "none.yaml")}}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a manifest that is missing: %v", err)
	}
}

func TestACallThatCannotBeDecidedIsDenied(t *testing.T) {
	t.Parallel()
	w, _, _ := process(t)
	j, done, err := NewJudge(w)
	if err != nil {
		t.Fatal(err)
	}
	full, _, err := load.Profile(t.Context(), w, load.ProfileOptions{Profile: "full"})
	if err != nil {
		t.Fatal(err)
	}
	if d := j.Decide(full)("read", "a\x00b"); d.Allowed() || !d.NoRule || d.Source != "built in" || d.Rule == "" {
		t.Errorf("%+v", d)
	}
	done()
	if _, err := j.Env.Workspace.Root().Open("."); !errors.Is(err, os.ErrClosed) {
		t.Error("the directory is still open")
	}
}
