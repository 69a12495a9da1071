package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/runtest"
)

const (
	token   = "forge-token-4711"
	twoJobs = `version: 1
model: script:turns.yaml
profile: edit
forges: {"HOST": {kind: gitea, token_env: FORGE_TOKEN}}
repos: [{url: "http://HOST/acme/web.git"}]
tasks:
  - {id: one, prompt: Add a notice., publish: {mode: MODE}}
  - {id: two, prompt: Add a notice., publish: {mode: MODE}}
`
	turns = `version: 1
turns:
  - calls: [{tool: write, args: {filePath: NOTICE, content: "one\n"}}]
  - text: Done.
`
	allowed = "version: 1\npublish: [none, patch, branch, push, pr]\n"
)

// ended is a run with two jobs on a repository of a forge, which has ended. Its manifest, its policy and its report directory,
// named run, are in one directory, which is the current one.
type ended struct {
	*forgetest.Server
	git      *gittest.Sandbox
	dir      string
	world    world.World
	out, log strings.Builder
}

// after returns a run that published its jobs with a mode, started with more arguments.
func after(t *testing.T, mode string, args ...string) *ended {
	t.Helper()
	r := &ended{git: gittest.NewSandbox(t), Server: &forgetest.Server{Kind: "gitea", Token: token, User: "mill"}}
	r.git.Write("README", "hello\n")
	r.git.Commit()
	r.dir = filepath.Dir(r.git.Root)
	bare := r.git.At(filepath.Join(r.dir, "acme", "web.git"))
	r.git.Run("clone", "-q", "--bare", r.git.Root, bare.Root)
	bare.Run("config", "http.receivepack", "true")
	r.Add(forgetest.Repo{Owner: "acme", Name: "web"})
	r.Resolve = func(_, branch string) string { return r.head(branch) }
	backend, err := gittest.HTTP(t.Context(), r.dir, t.Output(), "HOME="+r.git.Home, "PATH="+os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	r.Other = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, sent, _ := req.BasicAuth(); sent != token {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	})
	server := httptest.NewServer(r.Server)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.write("m.yaml", strings.NewReplacer("HOST", strings.TrimPrefix(server.URL, "http://"), "MODE", mode).Replace(twoJobs))
	r.write("turns.yaml", turns)
	r.write("p.yaml", allowed)
	t.Chdir(r.dir)
	env := map[string]string{"HOME": r.git.Home, "PATH": os.Getenv("PATH"), "FORGE_TOKEN": token}
	r.world = world.World{
		Dir: r.dir, In: strings.NewReader(""), Out: &r.out, Err: &r.log, Now: time.Now, System: []string{t.TempDir()},
		Getenv: func(name string) string { return env[name] }, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	o := runtest.Options(t, r.dir, append([]string{"m.yaml", "--report-dir", "run", "--sandbox", "off"}, args...)...)
	if err := runs.Run(t.Context(), r.world, o); err != nil {
		t.Fatalf("%v: %s%s", err, &r.out, &r.log)
	}
	r.out.Reset()
	r.log.Reset()
	return r
}

func (r *ended) write(name, text string) {
	r.git.T.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.git.T.Fatal(err)
	}
}

// head is the commit of a branch of the forge, "" for none.
func (r *ended) head(branch string) string {
	out, err := r.git.Command("--git-dir", filepath.Join(r.dir, "acme", "web.git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// states are the states of the pull requests, by branch.
func (r *ended) states() string {
	var all []string
	for _, p := range r.Pulls() {
		all = append(all, fmt.Sprintf("%s %s", p.Branch, p.State))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestPullRequestsAreAccessedWithTheCredentialsOfTheManifest(t *testing.T) {
	r := after(t, "pr")
	if err := Do(t.Context(), r.world, Options{Run: "run"}, pulls.Order{}); err != nil || strings.Count(r.out.String(), " open ") != 2 {
		t.Errorf("%v: %s", err, &r.out)
	}
	r.out.Reset()
	if err := Do(t.Context(), r.world, Options{Run: "run", Jobs: []string{"one"}, JSON: true}, pulls.Order{Verb: pulls.Close}); err != nil || r.states() != "millhand/one closed, millhand/two open" {
		t.Errorf("%v: %s", err, r.states())
	}
	var printed struct {
		Run  string
		Jobs []pulls.Row
	}
	if err := json.Unmarshal([]byte(r.out.String()), &printed); err != nil || printed.Run == "" || len(printed.Jobs) != 1 || printed.Jobs[0].Result != "closed" || printed.Jobs[0].Job != "one" {
		t.Errorf("%v: %s", err, &r.out)
	}
	// The table has the reason of a result that is not what was ordered.
	r.out.Reset()
	for n := range int64(2) { // which of them is that of job two depends on which was published first
		r.Set("acme/web", n+1, func(p *forgetest.Pull) { p.Checks = "success" })
	}
	err := Do(t.Context(), r.world, Options{Run: "run"}, pulls.Order{Verb: pulls.Merge, Method: forge.Squash})
	if err != nil || !strings.Contains(r.out.String(), "one: it was closed before") || r.states() != "millhand/one closed, millhand/two merged" {
		t.Errorf("%v: %s: %s", err, r.states(), &r.out)
	}
	if r.log.Len() > 0 {
		t.Errorf("%s", &r.log)
	}
	if err := Do(t.Context(), r.world, Options{Run: "run", Jobs: []string{"three"}}, pulls.Order{}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("an unknown job: %v", err)
	}
	if err := Do(t.Context(), r.world, Options{Run: "other"}, pulls.Order{}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("an unknown run: %v", err)
	}
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(event.Interrupt{Exit: event.ExitInterrupt})
	r.out.Reset()
	if err := Do(interrupted, r.world, Options{Run: "run"}, pulls.Order{}); fault.ExitOf(err) != event.ExitInterrupt || r.out.Len() > 0 {
		t.Errorf("an interrupt: %v: %s", err, &r.out)
	}
}

// Manifests that are gone leave the credentials of the environment, which do not include the kind of the forge.
func TestManifestsThatCanNotBeReadLeaveTheEnvironment(t *testing.T) {
	r := after(t, "pr")
	if err := os.Remove(filepath.Join(r.dir, "m.yaml")); err != nil {
		t.Fatal(err)
	}
	err := Do(t.Context(), r.world, Options{Run: "run"}, pulls.Order{})
	if warning := r.log.String(); !strings.HasPrefix(warning, "millhand: warning: can't read the manifests of the run: ") || !strings.Contains(warning, "m.yaml") || strings.Count(warning, "\n") != 1 {
		t.Errorf("%v: %s", err, warning)
	}
	if fault.ExitOf(err) != event.ExitPublish || !strings.Contains(r.out.String(), "add it to forges") {
		t.Errorf("%v: %s", err, &r.out)
	}
}

func TestAccessOfRunsWithoutManifests(t *testing.T) {
	for name, c := range map[string]struct {
		run  *event.Run
		want string
	}{
		"standard input":   {&event.Run{ID: "r", Invocation: &event.Invocation{Args: []string{"-"}}}, "one was standard input"},
		"no invocation":    {&event.Run{ID: "r"}, "earlier releases can't be resumed"},
		"a lost directory": {&event.Run{ID: "r", Invocation: &event.Invocation{Dir: "/nonesuch", Args: []string{"m.yaml"}}}, "/nonesuch"},
		"no start":         {nil, "the run did not start"},
	} {
		if c.run != nil && c.run.Invocation != nil && c.run.Invocation.Dir == "" {
			c.run.Invocation.Dir = t.TempDir()
		}
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		stream := event.NewStream(time.Now, event.JSONL(f))
		if c.run != nil {
			stream.Emit(event.Event{Type: event.RunStarted, Run: c.run})
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		access, err := accessOf(t.Context(), world.World{Dir: dir, Err: &log, Now: time.Now, Getenv: func(string) string { return "" }}, dir, Options{}.PolicyOptions)
		if err != nil || access.Forges != nil || !strings.Contains(log.String(), c.want) || !strings.HasSuffix(log.String(), "; using only credentials of the environment\n") {
			t.Errorf("%s: %v: %s, want %q", name, err, &log, c.want)
		}
	}
	if _, err := accessOf(t.Context(), world.World{}, t.TempDir(), Options{}.PolicyOptions); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a directory without events: %v", err)
	}
}

// The policies that the run was started with apply, and those of this command.
func TestPoliciesOfTheRunAndOfTheCommandApply(t *testing.T) {
	r := after(t, "pr", "--policy", "p.yaml")
	const forbidden = "version: 1\npublish: [patch]\n"
	r.write("q.yaml", forbidden)
	o := Options{Run: "run"}
	o.Policies = []string{"q.yaml"}
	elsewhere := filepath.Join(r.dir, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"of the command": func(o *Options) { o.Policies = []string{filepath.Join("..", "q.yaml")} },
		"of the run":     func(*Options) { r.write("p.yaml", forbidden) },
		"missing":        func(o *Options) { o.Policies = []string{"q.yaml"} }, // relative to the current directory
	} {
		t.Chdir(elsewhere)
		r.write("p.yaml", allowed)
		o := Options{Run: filepath.Join("..", "run")}
		change(&o)
		err := Do(t.Context(), r.world, o, pulls.Order{Verb: pulls.Close})
		if fault.ExitOf(err) != event.ExitUsage || r.states() != "millhand/one open, millhand/two open" {
			t.Errorf("%s: %v: %s", name, err, r.states())
		}
		if err := Publish(t.Context(), r.world, PublishOptions{Options: o, Mode: "pr", DryRun: true}); err != nil && fault.ExitOf(err) != event.ExitUsage {
			t.Errorf("%s: publish: %v", name, err)
		}
	}
}

func TestSavedChangesArePublishedLater(t *testing.T) {
	r := after(t, "patch", "--policy", "p.yaml", "--fail-on", "never")
	if err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run"}, Mode: "pr", DryRun: true}); err != nil || strings.Count(r.out.String(), "would publish") < 2 || len(r.Pulls()) > 0 || r.head("millhand/one") != "" {
		t.Errorf("a dry run: %v: %s", err, &r.out)
	}
	r.write("p.yaml", "version: 1\npublish: [patch]\n")
	err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run"}, Mode: "pr"})
	if fault.ExitOf(err) != event.ExitUsage || len(r.Pulls()) > 0 || r.head("millhand/one") != "" {
		t.Errorf("a policy of the run: %v, %s", err, r.states())
	}
	r.write("p.yaml", allowed)
	r.out.Reset()
	if err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run", Jobs: []string{"one"}}, Mode: "push"}); err != nil || r.head("millhand/one") == "" || r.head("millhand/two") != "" || len(r.Pulls()) > 0 {
		t.Errorf("one job: %v: %s", err, &r.out)
	}
	r.out.Reset()
	if err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run", JSON: true}, Mode: "pr"}); err != nil || len(r.Pulls()) != 2 || r.head("millhand/two") == "" {
		t.Errorf("all jobs: %v: %s", err, &r.out)
	}
	var printed struct{ Jobs []pulls.PublishRow }
	if err := json.Unmarshal([]byte(r.out.String()), &printed); err != nil || len(printed.Jobs) != 2 || printed.Jobs[1].Result != "published" || printed.Jobs[1].Commit != r.head("millhand/two") {
		t.Errorf("%v: %s", err, &r.out)
	}
	// What is published already needs no access: the manifest may be gone.
	if err := os.Remove(filepath.Join(r.dir, "m.yaml")); err != nil {
		t.Fatal(err)
	}
	r.out.Reset()
	r.log.Reset()
	if err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run"}, Mode: "pr"}); err != nil || strings.Count(r.out.String(), "unchanged") < 2 || r.log.Len() > 0 {
		t.Errorf("again: %v: %s%s", err, &r.out, &r.log)
	}
}

func TestAForgeThatRefusesAPullRequestDecidesTheExitCode(t *testing.T) {
	r := after(t, "patch")
	r.Fail(100, forgetest.Invalid, "POST", "/pulls")
	err := Publish(t.Context(), r.world, PublishOptions{Options: Options{Run: "run"}, Mode: "pr"})
	if fault.ExitOf(err) != event.ExitPublish || err.Error() != "" || strings.Count(r.out.String(), " failed ") != 2 || strings.Contains(r.out.String()+r.log.String(), token) {
		t.Errorf("exit code %d, %v: %s", fault.ExitOf(err), err, &r.out)
	}
	saved, err := savedrun.Load("run")
	if err != nil || saved.Report.Jobs[0].Outcome != event.Passed || saved.Report.Jobs[0].PullRequest != nil || r.head("millhand/one") == "" {
		t.Errorf("%+v, %v", saved.Report.Jobs[0], err)
	}
}
