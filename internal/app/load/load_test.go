package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

const lookManifest = "version: 1\nname: m\nmodel: openai/gpt-5-mini\ntasks:\n  - {id: t, prompt: Look., profile: build, repos: [{path: .}]}\n"

// in writes files to a directory, which becomes the current one.
func in(t *testing.T, files map[string]string) world.World {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return world.World{Dir: dir, In: strings.NewReader(""), Out: &strings.Builder{}, Err: &strings.Builder{}, Now: time.Now, Getenv: func(name string) string {
		return map[string]string{"HOME": dir}[name]
	}}
}

func TestAPlanIsLoadedWithWhatItsOptionsSay(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": lookManifest})
	var o Options
	others, _, err := option.Read(o.JobFields(), strings.Fields("m.yaml --max-profile readonly --max-cost 2 --model openai/gpt-5"))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Parse("run", others); err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	if j := plan.Jobs[0]; j.ModelName != "openai/gpt-5" || j.Profile.MayChange() || plan.Budget.CostUSD != 2*money.Dollar {
		t.Errorf("model %s, profile %s, budget %s", j.ModelName, j.Profile.Name, plan.Budget.CostUSD)
	}
}

func TestAnInvalidManifestIsAFaultWithItsProblems(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": strings.ReplaceAll(lookManifest, "prompt:", "promt:")})
	_, err := Plan(t.Context(), w, Options{Manifests: []string{"m.yaml"}})
	if got := fault.ProblemsOf(err); len(got) == 0 || got[0].Line != 5 || !strings.Contains(err.Error(), "nothing was run") {
		t.Errorf("%v: %v", err, got)
	}
}

func TestWithoutAnArgumentTheUsualManifestIsLoaded(t *testing.T) {
	in(t, nil)
	var o Options
	if err := o.Parse("plan", nil); err == nil || !strings.Contains(err.Error(), "plan requires a manifest, and millhand.yaml was not found") {
		t.Error(err)
	}
	in(t, map[string]string{UsualManifest: lookManifest})
	if err := o.Parse("plan", nil); err != nil || len(o.Manifests) != 1 || o.Manifests[0] != UsualManifest {
		t.Errorf("%v, %q", err, o.Manifests)
	}
}

func TestWhatNamesTheProfileLimitsIt(t *testing.T) {
	w := in(t, map[string]string{"p.yaml": "rules: not rules\n"})
	for max, want := range map[string]string{"nothing": "--max-profile nothing", "p.yaml": "--max-profile p.yaml"} {
		plan := &tasks.Plan{Jobs: []tasks.Job{{}}}
		_, err := Lower(t.Context(), plan, PolicyOptions{MaxProfile: max}, tasks.Options{Getenv: w.Getenv})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", max, err)
		}
	}
	// A profile of the manifest can be named, but not instead of a file that is unreadable.
	plan := &tasks.Plan{Jobs: []tasks.Job{{}}, Profiles: []permission.Profile{{Name: "nothing"}, {Name: "p.yaml"}}}
	if _, err := Lower(t.Context(), plan, PolicyOptions{MaxProfile: "nothing"}, tasks.Options{Getenv: w.Getenv}); err != nil {
		t.Error(err)
	}
	if _, err := Lower(t.Context(), plan, PolicyOptions{MaxProfile: "p.yaml"}, tasks.Options{Getenv: w.Getenv}); err == nil {
		t.Error("a profile has replaced an unreadable file")
	}
}

// Every path of a command line starts from the directory of its options, whatever the process is in.
func TestRelativePathsStartFromTheDirectoryOfTheOptions(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": lookManifest, "least.yaml": "extends: readonly\n", "policy.yaml": "version: 1\nmodels: [\"openai/*\"]\n"})
	t.Chdir(t.TempDir())
	o := Options{PolicyOptions: PolicyOptions{Dir: w.Dir, MaxProfile: "least.yaml", Policies: []string{"policy.yaml"}}, Manifests: []string{"m.yaml"}}
	w.Dir = ""
	plan, err := Plan(t.Context(), w, o)
	if err != nil {
		t.Fatal(fault.ProblemsOf(err), err)
	}
	if j := plan.Jobs[0]; j.Repo.Dir != o.Dir || j.Profile.MayChange() || len(plan.Policies) != 1 {
		t.Errorf("%s, profile %s, policies %v", j.Repo.Dir, j.Profile.Name, plan.Policies)
	}
	p := Prompt{Output: "out.md"}
	if plan, err = p.Deliver(plan, o.In(w), false); err != nil || plan.Jobs[0].Output.Own != filepath.Join(o.Dir, "out.md") {
		t.Errorf("%v: %+v", err, plan.Jobs[0].Output)
	}
	o.Dir = ""
	if _, err := Plan(t.Context(), w, o); err == nil || !strings.Contains(err.Error(), "the current directory is unknown") {
		t.Errorf("without a directory: %v", err)
	}
}

func TestPathsOfUntrustedRunsAreBelowTheCurrentDirectory(t *testing.T) {
	w := in(t, map[string]string{"file": ""})
	if err := os.Symlink(t.TempDir(), "symlink"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flag, path string
		refused    bool
	}{
		{"--output-file", "out.md", false},
		{"--output-file", "../out.md", true},
		{"--output-file", "symlink/out.md", true},
		{"--record", "/tmp/record", true},
		{"--report-dir", "/tmp/reports", false}, // a root of its own
		{"--report-dir", "reports", false},
		{"--report-dir", "symlink", true},
		{"--sources", "../sources.json", false}, // an input
	} {
		if err := (Path{tt.flag, tt.path}).checkUntrusted(w.Dir); (err != nil) != tt.refused {
			t.Errorf("%s %s: %v, refused must be %t", tt.flag, tt.path, err, tt.refused)
		}
	}
}

func TestListsThatAreKnownAreNotAskedForAgain(t *testing.T) {
	in(t, map[string]string{
		"plan.json": `{"sources": []}`, "report.json": `{"run": {"sources": []}}`, "other.json": `{}`, "no.json": `{`,
	})
	for file, want := range map[string]string{
		"plan.json": "", "report.json": "", "": "", "other.json": "has no sources", "no.json": "read no.json", "absent.json": "read absent.json",
	} {
		if _, err := (SourceOptions{File: file}).lists(t.Context()); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
	unlisted := []tasks.Source{{}}
	for name, tt := range map[string]struct {
		options SourceOptions
		refused bool
	}{
		"a new run":                    {SourceOptions{}, false},
		"a file without the source":    {SourceOptions{File: "plan.json"}, true},
		"a resumed run":                {SourceOptions{Recorded: &event.Run{}, Only: true}, true},
		"a resumed run, other changes": {SourceOptions{Recorded: &event.Run{}}, false},
	} {
		if err := tt.options.missing(unlisted); (err != nil) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err := tt.options.missing(nil); err != nil {
			t.Errorf("%s, with all lists: %v", name, err)
		}
	}
}

func TestAPromptBecomesAManifest(t *testing.T) {
	w := in(t, nil)
	read := func(line string) (Prompt, error) {
		var p Prompt
		others, _, err := option.Read(p.Fields(), strings.Split(line, "|"))
		if err == nil {
			err = p.Check(others, false)
		}
		return p, err
	}
	for line, want := range map[string]string{
		"-p|":             "-p: the prompt is empty",
		"-p|Look.|a.yaml": "run -p accepts no manifest",
		"--verify|make":   "--verify requires -p PROMPT",
		"--commit":        "--commit requires -p PROMPT",
	} {
		if _, err := read(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	p, err := read("-p|-|--verify|make test|--commit")
	if err != nil {
		t.Fatal(err)
	}
	w.In = strings.NewReader("Fix it.")
	text, err := p.Manifest(t.Context(), w, "r1", Options{})
	for _, want := range []string{"Fix it.", "make test", "millhand/prompt-r1"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: %s has no %q", err, text, want)
		}
	}
	for in, want := range map[string]string{"": "standard input is empty", "\xff": "not UTF-8", strings.Repeat("x", maxPrompt+1): "exceeds 256 KiB"} {
		w.In = strings.NewReader(in)
		if _, err := p.Manifest(t.Context(), w, "r1", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: got %v, want %q", in, err, want)
		}
	}
}
