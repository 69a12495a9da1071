// Package fleet migrates many real repositories by repeated invocations of the program, as
// people would do it in a month: waves, follow-up, review by pattern, a distilled script, and
// evidence. Agents, CI and people are played by the tests.
package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/proc/signals"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"millhand": func() {
		command.Start(signals.Catch(), command.SameSignal, func(w *world.World) { w.Sleep = briefly })
	}})
}

// briefly waits so shortly that pauses between writes to a forge don't take the tests' time.
func briefly(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(d, time.Millisecond)):
		return nil
	}
}

const forgeToken = "forge-token-4711-4711"

// fleet is an organization: its forge with the repositories, the agents, CI and people.
type fleet struct {
	t       *testing.T
	dir     string // has acme (the repositories), desk (where the program runs), home
	modules []module
	forge   *forgetest.Server
	model   *wiretest.Server
	host    string // of the forge
	models  string // URL

	checked map[string]bool // commits that CI has checked
	current map[string]bool // repositories that only merge branches that have their base's head
	entries map[string]bool // repositories whose CI requires an entry in CHANGES.md
	reds    int             // commits with a failed check

	mu    sync.Mutex
	plans map[string][]step // of the session in progress, by repository
}

// newFleet makes the repositories, and serves the model and the forge.
func newFleet(t *testing.T, modules []module) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.ArtifactDir(), modules: modules, checked: map[string]bool{}, current: map[string]bool{}, entries: map[string]bool{}, plans: map[string][]step{}}
	for _, sub := range []string{"acme", "desk", "home"} {
		f.must(os.Mkdir(filepath.Join(f.dir, sub), 0o700))
	}
	f.write("home/.gitconfig", "[user]\n\tname = Tess Tester\n\temail = tess@example.com\n")
	f.run("desk", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fleet", "-f", "../key")
	key, err := os.ReadFile(filepath.Join(f.dir, "key.pub"))
	f.must(err)
	f.write("allowed_signers", "tess@example.com namespaces=\"millhand-evidence\" "+string(key))
	var list strings.Builder
	f.model = wiretest.New(nil)
	f.model.Play = f.play
	f.forge = &forgetest.Server{Kind: "github", Token: forgeToken, User: "mill", Resolve: func(repo, branch string) string {
		out, _ := f.git(repo, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
		return out
	}, Message: func(repo, sha string) (message, parent string) {
		out, _ := f.git(repo, "log", "-1", "--format=%P%n%B", sha)
		parent, message, _ = strings.Cut(out, "\n")
		return message, parent
	}}
	models, server := httptest.NewServer(f.model), f.serveForge()
	t.Cleanup(func() { models.CloseClientConnections(); models.Close() })
	f.models, f.host = models.URL, strings.TrimPrefix(server.URL, "http://")
	for _, m := range modules {
		f.publish(m)
		f.forge.Add(forgetest.Repo{Owner: "acme", Name: m.name})
		fmt.Fprintf(&list, "%s/acme/%s.git\n", server.URL, m.name)
	}
	f.write("desk/repos.txt", list.String())
	return f
}

// serveForge serves the API beside the repositories.
func (f *fleet) serveForge() *httptest.Server {
	backend, err := gittest.HTTP(f.t.Context(), f.dir, f.t.Output(), "HOME="+filepath.Join(f.dir, "home"), "PATH="+os.Getenv("PATH"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.forge.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != forgeToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
	server := httptest.NewServer(f.forge)
	f.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) write(name, text string) {
	f.t.Helper()
	f.must(os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

// command prepares a program in a directory.
func (f *fleet) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.t.Context(), name, args...)
	cmd.Dir = filepath.Join(f.dir, dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(f.dir, "home"), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"}
	return cmd
}

// run runs a program and returns its output.
func (f *fleet) run(dir, name string, args ...string) string {
	f.t.Helper()
	cmd, stderr := f.command(dir, name, args...), new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr)
	}
	return strings.TrimSpace(string(out))
}

// git runs git in a repository of the forge.
func (f *fleet) git(repo string, args ...string) (string, error) {
	out, err := f.command(filepath.Join(repo+".git"), "git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

// millhand runs the program at the desk, and returns its exit code and output.
func (f *fleet) millhand(args ...string) (int, string) {
	f.t.Helper()
	cmd := f.command("desk", "millhand", args...)
	cmd.Env = append(cmd.Env, "FORGE_TOKEN="+forgeToken, "MILLHAND_SIGNING_KEY="+filepath.Join(f.dir, "key"))
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	f.t.Logf("$ millhand %s\n%s%s(exit code %d)", strings.Join(args, " "), tail(out.String(), 30), tail(log.String(), 6), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode(), out.String()
}

// tail returns the last lines of a text.
func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}

// savedRun is a saved run.
type savedRun struct {
	dir string
	Run struct {
		ID, Outcome string
		Rollout     *struct{ Wave int }
		Totals      struct {
			CostUSD float64 `json:"cost_usd"`
		}
	}
	Jobs []struct {
		ID, Repo, Outcome string
		CostUSD           *float64 `json:"cost_usd"`
		PullRequest       *struct{ URL string }
	}
}

// runs returns the saved runs with jobs, the oldest first.
func (f *fleet) runs() (all []savedRun) {
	f.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(f.dir, "desk/.millhand/runs/*/report.json"))
	f.must(err)
	slices.Sort(dirs)
	for _, name := range dirs {
		text, err := os.ReadFile(name)
		f.must(err)
		r := savedRun{dir: filepath.Dir(name)}
		f.must(json.Unmarshal(text, &r))
		if len(r.Jobs) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// last returns the latest run.
func (f *fleet) last() savedRun {
	f.t.Helper()
	all := f.runs()
	if len(all) == 0 {
		f.t.Fatal("no run has jobs")
	}
	return all[len(all)-1]
}

// sessions returns the number of sessions that a run has started, of its first attempts only or
// also of those of follow-ups.
func (r savedRun) sessions(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte(`"type":"session.started"`))
}
