package load

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/tasks"
)

// with returns a world with more variables.
func with(w world.World, env map[string]string) world.World {
	getenv := w.Getenv
	w.Getenv = func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		return getenv(name)
	}
	return w
}

// The policy of the environment applies in addition to those of flags, each file once, and an unreadable one is an error.
func TestEveryPolicyThatIsNamedApplies(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": lookManifest, "a.yaml": "version: 1\nmodels: [\"openai/*\"]\n", "b.yaml": "version: 1\nmodels: [\"anthropic/*\"]\n"})
	load := func(w world.World, files ...string) (*tasks.Plan, error) {
		return Plan(t.Context(), w, Options{PolicyOptions: PolicyOptions{Policies: files}, Manifests: []string{"m.yaml"}})
	}
	if plan, err := load(with(w, map[string]string{"MILLHAND_POLICY": "a.yaml"}), "a.yaml", "./a.yaml"); err != nil || len(plan.Policies) != 1 {
		t.Errorf("one file named three times: %v", err)
	}
	if _, err := load(with(w, map[string]string{"MILLHAND_POLICY": "b.yaml"}), "a.yaml"); fault.ExitOf(err) != event.ExitUsage || len(fault.ProblemsOf(err)) != 1 {
		t.Errorf("a policy of the environment that forbids the model: %v", err)
	}
	if _, err := load(w, "missing.yaml"); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "missing.yaml") || !strings.Contains(err.Error(), "nothing was run") {
		t.Errorf("a missing policy: %v", err)
	}
}

// A re-run workflow has two actors, and both must be permitted.
func TestEveryActorMustBePermitted(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": lookManifest, "p.yaml": "version: 1\nactors: [ann, bob]\n"})
	for _, tt := range []struct {
		env     map[string]string
		refused string
	}{
		{map[string]string{"GITHUB_ACTOR": "ann"}, ""},
		{map[string]string{"GITHUB_ACTOR": "ann", "GITHUB_TRIGGERING_ACTOR": "bob"}, ""},
		{map[string]string{"GITHUB_ACTOR": "ann", "GITHUB_TRIGGERING_ACTOR": "eve"}, `user "eve" is not permitted`},
		{map[string]string{"GITLAB_USER_LOGIN": "eve"}, `user "eve" is not permitted`},
		{nil, "is not permitted"}, // the user of the process
	} {
		_, err := Plan(t.Context(), with(w, tt.env), Options{PolicyOptions: PolicyOptions{Policies: []string{"p.yaml"}}, Manifests: []string{"m.yaml"}})
		if (err == nil) != (tt.refused == "") || err != nil && (!strings.Contains(err.Error(), tt.refused) || fault.ExitOf(err) != event.ExitUsage) {
			t.Errorf("%v: %v", tt.env, err)
		}
	}
}

func TestUntrustedManifestsGetTheMaximumProfileAtMost(t *testing.T) {
	w, s := in(t, nil), gittest.NewSandbox(t)
	s.Write("m.yaml", lookManifest, "own.yaml", "extends: edit\n")
	s.Commit()
	t.Chdir(s.Root)
	w.Dir = s.Root
	for max, want := range map[string]bool{"": false, "readonly": false, "edit": true, "own.yaml": true} {
		plan, err := Plan(t.Context(), w, Options{PolicyOptions: PolicyOptions{Untrusted: true, MaxProfile: max}, Manifests: []string{"m.yaml"}})
		if err != nil {
			t.Fatalf("%q: %v %v", max, err, fault.ProblemsOf(err))
		}
		if p := plan.Jobs[0].Profile; p.MayChange() != want || !p.Hides("bash") {
			t.Errorf("%q: profile %s may change files: %t", max, p.Name, p.MayChange())
		}
	}
	_, err := Plan(t.Context(), w, Options{PolicyOptions: PolicyOptions{Untrusted: true, MaxProfile: "mine"}, Manifests: []string{"m.yaml"}})
	if err == nil || !strings.Contains(err.Error(), "with --untrusted it must be a preset or a file") {
		t.Errorf("a profile of the manifest: %v", err)
	}
}

func TestPathsOfFlagsAreThoseThatPoliciesAllow(t *testing.T) {
	w := in(t, map[string]string{"m.yaml": lookManifest, "p.yaml": "version: 1\npaths: [out]\n"})
	for path, refused := range map[string]bool{"out/reports": false, "elsewhere": true, "": false} {
		_, err := TaskOptions(t.Context(), w, PolicyOptions{Policies: []string{"p.yaml"}, Paths: []Path{{"--report-dir", path}}})
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), `--report-dir: path "elsewhere" not allowed by `) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestProfileOfACommandIsLimitedByPolicies(t *testing.T) {
	w := in(t, map[string]string{"p.yaml": "version: 1\nmax_profile: readonly\n"})
	for name, want := range map[string]bool{"": true, "readonly": false} {
		p, _, err := Profile(t.Context(), w, ProfileOptions{Profile: name})
		if err != nil || p.MayChange() != want {
			t.Errorf("%q: may change files: %t, %v", name, p.MayChange(), err)
		}
	}
	if p, _, err := Profile(t.Context(), w, ProfileOptions{PolicyOptions: PolicyOptions{Policies: []string{"p.yaml"}}}); err != nil || p.MayChange() {
		t.Errorf("under a policy: %s, %v", p.Name, err)
	}
	if _, _, err := Profile(t.Context(), w, ProfileOptions{Profile: "unknown"}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("an unknown profile: %v", err)
	}
}

func TestFinalMessageIsWrittenToTheFileOfTheUser(t *testing.T) {
	w := in(t, map[string]string{"taken": ""})
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "said")
	for path, tt := range map[string]struct {
		untrusted bool
		own, want string // the path that is written, or the error
	}{
		"said":           {false, w.Dir + "/said", ""},
		"sub/../said":    {false, w.Dir + "/sub/../said", ""},
		outside:          {false, outside, ""},
		"taken":          {false, w.Dir + "/taken", ""},
		"sub":            {false, "", "--output-file: "},
		"/missing/said":  {false, "", "directory /missing not found"},
		"sub/said":       {true, w.Dir + "/sub/said", ""},
		"":               {false, "", ""},
		"missing/../../": {false, "", "--output-file: "},
	} {
		p := Prompt{Output: path}
		plan, err := p.Deliver(&tasks.Plan{Jobs: []tasks.Job{{ID: "prompt"}}}, w.Dir, tt.untrusted)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", path, err, tt.want)
			continue
		}
		if err != nil {
			continue
		}
		at := plan.Jobs[0].Output
		if got := at.Own; !tt.untrusted && got != tt.own || tt.untrusted && filepath.Join(at.Dir, at.Path) != tt.own {
			t.Errorf("%q: %+v", path, at)
		}
	}
}

func TestTimeOfARunIncludesLoading(t *testing.T) {
	ctx, cancel := Timed(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	err := NotLoaded(ctx, errors.New("read m.yaml: interrupted"))
	if fault.ExitOf(context.Cause(ctx)) != event.ExitDeadline || fault.ExitOf(err) != event.ExitUsage || !strings.HasSuffix(err.Error(), "; nothing was run") {
		t.Errorf("%v, because of %v", err, context.Cause(ctx))
	}
	if ctx, cancel := Timed(t.Context(), 0); ctx != t.Context() {
		t.Error("no limit changes the context")
		cancel()
	}
}

func TestRunIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := world.World{Now: func() time.Time { at = at.Add(time.Second); return at }}
	var ids []string
	for range 20 {
		ids = append(ids, NewRunID(w))
	}
	if !slices.IsSorted(ids) || !strings.HasPrefix(ids[0], "20260102-030406-") || len(slices.Compact(ids)) != 20 {
		t.Errorf("%q", ids)
	}
}

const everyRepo = "version: 1\nname: m\nmodel: openai/gpt-5-mini\nforges: {\"HOST\": {kind: gitea, token_env: FORGE_TOKEN}}\nrepos: [{gitea: {host: \"HOST\", org: acme, exclude: [\"*/old\"]}}]\ntasks:\n  - {id: t, prompt: Look., profile: build}\n"

// Forges are asked once, and a resumed run asks none.
func TestForgesListTheRepositoriesOfAPlan(t *testing.T) {
	forge := &forgetest.Server{Kind: "gitea", Token: "good-token", User: "mill"}
	for _, name := range []string{"api", "web", "old"} {
		forge.Add(forgetest.Repo{Owner: "acme", Name: name})
	}
	server := httptest.NewServer(forge)
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := with(in(t, map[string]string{"m.yaml": strings.ReplaceAll(everyRepo, "HOST", at.Host)}), map[string]string{"FORGE_TOKEN": "good-token"})
	w.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	o := Options{Manifests: []string{"m.yaml"}}
	plan, err := Listed(t.Context(), w, o, false)
	if err != nil {
		t.Fatal(err, fault.ProblemsOf(err))
	}
	var names []string
	for _, j := range plan.Jobs {
		names = append(names, j.Repo.Name)
	}
	log := w.Err.(*strings.Builder).String()
	if len(plan.Jobs) != 2 || len(plan.Unlisted()) != 0 || !strings.Contains(log, "2 repositories (left out: ") || strings.Contains(log, "good-token") {
		t.Errorf("%q: %s", names, log)
	}
	var shown strings.Builder
	if PrintSources(&shown, plan); !strings.Contains(shown.String(), "  acme/api\n  acme/web\n") {
		t.Errorf("%s", &shown)
	}
	unlisted, err := Plan(t.Context(), w, o)
	if err != nil || len(unlisted.Unlisted()) != 1 {
		t.Fatalf("%v", err)
	}
	if NoteUnlisted(w, unlisted); !strings.Contains(w.Err.(*strings.Builder).String(), "millhand plan shows them") {
		t.Errorf("%s", w.Err)
	}
	o.Sources = SourceOptions{Recorded: &event.Run{}, Only: true}
	if _, err := Listed(t.Context(), w, o, true); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "the manifest has changed since the run was started") {
		t.Errorf("a source that the run has not recorded: %v", err)
	}
	o.Sources = SourceOptions{}
	if _, err := Listed(t.Context(), with(w, map[string]string{"FORGE_TOKEN": "bad"}), o, true); err == nil {
		t.Error("a token that the forge refuses")
	}
}

func TestSystemPolicyIsPartOfEverySet(t *testing.T) {
	_, err := os.Lstat(policy.System)
	if exists := err == nil; hasSystemPolicy() != exists {
		t.Errorf("%s: %t", policy.System, hasSystemPolicy())
	}
}
