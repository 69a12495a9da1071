package pass

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/follow"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/runtest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

const (
	token  = "forge-token-4711"
	branch = "millhand/notice" // of each pull request
)

// fleet is a run with a pull request in each repository of a forge, whose model is asked by the real wire.
type fleet struct {
	*gittest.Sandbox
	forge    *forgetest.Server
	world    world.World
	dir      string // of the repositories, the manifest and the run
	out, log strings.Builder

	mu       sync.Mutex
	requests int
	prompts  []string                           // of follow-up sessions
	command  func(prompt string) (shell string) // of a follow-up session
	final    string                             // message of such a session
}

const fleetManifest = `version: 1
model: responses/m
profile: build
providers: {responses: {kind: responses, base_url: %s/v1}}
prices: {responses/m: {input: 1, output: 1}}
forges: {"%s": {kind: github, token_env: FORGE_TOKEN}}
repos: [%s]
tasks:
  - id: notice
    prompt: Add a notice.
    verify: [test -e NOTICE]
    commit: {branch: millhand/notice}
    publish: {mode: pr}
`

// newFleet runs a task in repositories acme/NAME, with more text in the manifest.
func newFleet(t *testing.T, more string, repos ...string) *fleet {
	t.Helper()
	f := &fleet{Sandbox: gittest.NewSandbox(t), command: func(string) string { return "echo more >>more.txt" }, final: "Done."}
	f.dir = filepath.Dir(f.Root)
	f.forge = &forgetest.Server{Kind: "github", Token: token, User: "mill", Users: []string{"ada", "bob"}, Review: forgetest.Review{Writers: []string{"ada"}}, Resolve: f.head}
	var list []string
	for _, repo := range repos {
		f.Write("README", repo+"\n") // another commit in each: checks belong to commits
		f.Commit()
		f.Run("clone", "-q", "--bare", f.Root, f.repo(repo))
		f.Run("--git-dir", f.repo(repo), "config", "http.receivepack", "true")
		f.forge.Add(forgetest.Repo{Owner: "acme", Name: repo})
	}
	backend, err := gittest.HTTP(t.Context(), f.dir, t.Output(), "HOME="+f.Home, "PATH="+os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	f.forge.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, sent, _ := r.BasicAuth(); sent != token {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
	at := serve(t, f.forge)
	for _, repo := range repos {
		list = append(list, fmt.Sprintf(`{url: "%s/acme/%s.git"}`, at, repo))
	}
	model := wiretest.New(nil)
	model.Play = f.play
	f.write("pulls.yaml", fmt.Sprintf(fleetManifest, serve(t, model), strings.TrimPrefix(at, "http://"), strings.Join(list, ", "))+more)
	env := map[string]string{"HOME": f.Home, "PATH": os.Getenv("PATH"), "FORGE_TOKEN": token}
	f.world = world.World{
		Dir: f.dir, In: strings.NewReader(""), Out: &f.out, Err: &f.log, Now: time.Now, System: []string{t.TempDir()},
		Getenv: func(name string) string { return env[name] }, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	o := runtest.Options(t, f.dir, filepath.Join(f.dir, "pulls.yaml"), "--report-dir", f.run(), "--sandbox", "off")
	if err := runs.Run(t.Context(), f.world, o); err != nil {
		t.Fatalf("%v: %s%s", err, &f.out, &f.log)
	}
	return f
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func (f *fleet) run() string             { return filepath.Join(f.dir, "run") }
func (f *fleet) repo(name string) string { return filepath.Join(f.dir, "acme", name+".git") }
func (f *fleet) write(name, text string) {
	f.T.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.T.Fatal(err)
	}
}

// head is the commit of a branch, "" for none.
func (f *fleet) head(repo, branch string) string {
	out, err := f.Command("--git-dir", filepath.Join(f.dir, repo+".git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// push commits a file to a branch, as somebody else.
func (f *fleet) push(repo, to, name, text string) {
	f.T.Helper()
	clone := f.At(filepath.Join(f.T.TempDir(), "clone"))
	f.Run("clone", "-q", "-b", to, f.repo(repo), clone.Root)
	clone.Write(name, text)
	clone.Commit()
	clone.Run("push", "-q")
}

// check adds a check to a commit.
func (f *fleet) check(repo, branch string, r forgetest.Run) {
	f.forge.AddRun("acme/"+repo, branch, r)
	f.forge.SetChecks("acme/"+repo, branch)
}

// play is the model: a command, and a message.
func (f *fleet) play(req wiretest.Request) *script.Turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	var prompt string
	for _, m := range req.Messages {
		if m.Role == "user" {
			prompt = m.Content
		}
	}
	turn := &script.Turn{Text: "Done.", Finish: model.FinishStop, Usage: &money.Usage{Input: 1000, Output: 100}}
	if req.Responses()%2 == 1 {
		if req.Responses() > 1 {
			turn.Text = f.final
		}
		return turn
	}
	command := "echo one >NOTICE"
	if req.Responses() > 0 {
		f.prompts = append(f.prompts, prompt)
		command = f.command(prompt)
	}
	input, _ := json.Marshal(map[string]string{"command": command, "description": "work"}) //nolint:errchkjson // strings can be encoded
	turn.Calls = []model.ToolCall{{ID: fmt.Sprintf("call_%d", req.Responses()), Name: "bash", Input: string(input)}}
	turn.Finish = model.FinishTools
	return turn
}

// pass makes a pass and returns its rows by repository, and its exit code.
func (f *fleet) pass(ctx context.Context, change func(*Options)) (map[string]Row, event.Exit) {
	f.T.Helper()
	o := Options{Of: f.run(), JSON: true}
	if change != nil {
		change(&o)
	}
	f.out.Reset()
	f.log.Reset()
	err := Make(ctx, f.world, o)
	var printed struct{ Jobs []Row }
	if f.out.Len() == 0 {
		f.T.Fatalf("nothing was printed: %v: %s", err, &f.log)
	}
	if err := json.Unmarshal([]byte(f.out.String()), &printed); err != nil {
		f.T.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range printed.Jobs {
		rows[row.Repo] = row
	}
	return rows, fault.ExitOf(err)
}

// results checks the results of a pass, as RESULT or RESULT: REASON.
func (f *fleet) results(rows map[string]Row, want map[string]string) {
	f.T.Helper()
	for repo, result := range want {
		if got := strings.TrimSuffix(string(rows[repo].Result)+": "+rows[repo].Reason, ": "); got != result {
			f.T.Errorf("%s: %q, want %q", repo, got, result)
		}
	}
	if len(rows) != len(want) {
		f.T.Errorf("%d rows, want %d: %v", len(rows), len(want), rows)
	}
}

// state returns the state in the comment on the pull request of a repository, "" for the text without one.
func (f *fleet) state(repo string) (s follow.State, text string) {
	for _, n := range f.forge.Notes() {
		if n.Repo == "acme/"+repo && n.Author == "mill" {
			s, text = follow.Parse(n.Body), n.Body
		}
	}
	return s, text
}

// writes returns the number of requests so far that change the forge or its repositories.
func (f *fleet) writes() (n int) {
	for _, c := range f.forge.Calls() {
		if c.Method != http.MethodGet {
			n++
		}
	}
	return n
}
