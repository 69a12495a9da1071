package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// followed are the repositories of a run whose pull requests are followed: with a failed check,
// with a base that has moved, with a conflict, with a comment, and with a failed check of a change
// that a script has made.
var followed = []string{"red", "late", "hard", "talk", "made"}

// fleet is a run with a pull request in each of these repositories.
type fleet struct {
	*world
	forge *forgetest.Server
	out   bytes.Buffer

	mu     sync.Mutex
	served map[string]int // responses, by conversation and number
}

// TestFollowKilledAtFailpoints kills millhand follow at random moments: the passes after it
// complete its work, and nothing is pushed, commented or paid twice. For every change, only
// TestRebaseKilledTwice kills it.
func TestFollowKilledAtFailpoints(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-faults runs it")
	}
	dir := template(t)
	random := nightly.Random(t)
	f := newFleet(t, dir)
	hits := filepath.Join(t.TempDir(), "hits")
	if code := f.follow(hitsVariable + "=" + hits); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &f.out)
	}
	f.check("undisturbed", 0)
	text, err := os.ReadFile(hits)
	if err != nil {
		t.Fatal(err)
	}
	points := strings.Count(string(text), "\n")
	killed := 0
	for n := range nightly.Count(0, 100, 400) {
		f := newFleet(t, dir)
		moment := when(1+random.IntN(points), 0, anyPoint)
		if n%5 == 4 { // and again
			f.follow(killVariable + "=" + when(1+random.IntN(points), 0, anyPoint))
		}
		if f.follow(killVariable+"="+moment) == 128+9 {
			killed++
		}
		if code := f.follow(); code != 0 {
			t.Errorf("%s: exit code %d of the pass after the kill", moment, code)
		}
		f.check(moment, 2)
		if t.Failed() {
			t.Fatalf("%s", &f.out)
		}
	}
	t.Logf("%d points, %d kills", points, killed)
}

// TestRebaseKilledTwice kills the session that resolves a conflict, and the pass that continues it:
// the third one has the resolved files, not those with conflict markers.
func TestRebaseKilledTwice(t *testing.T) {
	f := newFleet(t, template(t))
	for _, moment := range []string{when(4, 0, "request.after"), when(1, 0, "event.after verify.ended")} {
		if code := f.follow(killVariable + "=" + moment); code != 128+9 {
			t.Fatalf("%s: exit code %d\n%s", moment, code, &f.out)
		}
	}
	if code := f.follow(); code != 0 {
		t.Errorf("exit code %d of the pass after the kills", code)
	}
	f.check("killed twice", 2)
	if t.Failed() {
		t.Fatalf("%s", &f.out)
	}
}

const fleetManifest = `version: 1
model: responses/m
profile: build
providers: {responses: {kind: responses, base_url: %s/v1}}
prices: {responses/m: {input: 1, output: 1}}
forges: {"%[3]s": {kind: github, token_env: FORGE_TOKEN}}
repos: [{url: "%[2]s/acme/red.git"}, {url: "%[2]s/acme/late.git"}, {url: "%[2]s/acme/hard.git"}, {url: "%[2]s/acme/talk.git"}, {url: "%[2]s/acme/made.git"}]
tasks:
  - id: work
    prompt: Do work in ${{ repo.name }}.
    script: work.sh
    verify: [test -e work.txt]
    commit: {branch: millhand/work}
    publish: {mode: pr}
`

func newFleet(t *testing.T, template string) *fleet {
	t.Helper()
	f := &fleet{served: map[string]int{}}
	f.world = newWorld(t, template, func(s *wiretest.Server) { s.Play = f.play })
	f.forge = &forgetest.Server{Kind: "github", Token: forgeToken, User: "mill", Users: []string{"ada"}, Review: forgetest.Review{Writers: []string{"ada"}}, Resolve: func(repo, branch string) string {
		out, err := exec.Command("git", "-C", filepath.Join(f.dir, repo+".git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}}
	for _, repo := range followed {
		f.git("clone", "-q", "--bare", "../origin.git", "../acme/"+repo+".git")
		f.git("--git-dir", "../acme/"+repo+".git", "config", "http.receivepack", "true")
		f.forge.Add(forgetest.Repo{Owner: "acme", Name: repo})
	}
	backend := f.serveGit()
	f.forge.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); token != forgeToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
	server := httptest.NewServer(f.forge)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	f.write("work.sh", "test -e made.txt && echo work >work.txt\n", 0o600)
	f.push("made", "made.txt")
	text, err := os.ReadFile(filepath.Join(f.dir, "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`base_url: (\S+)/v1`).FindSubmatch(text)[1]
	f.write("run.yaml", fmt.Sprintf(fleetManifest, address, server.URL, strings.TrimPrefix(server.URL, "http://")), 0o600)
	if code := f.millhand("run", "../run.yaml", "--report-dir", "../r"); code != 0 {
		t.Fatalf("exit code %d of the run\n%s", code, &f.out)
	}
	for repo, name := range map[string]string{"late": "other.txt", "hard": "work.txt"} {
		f.push(repo, name)
		f.forge.Set("acme/"+repo, 1, func(p *forgetest.Pull) { p.Conflict = true })
	}
	for _, repo := range []string{"acme/red", "acme/made"} {
		f.forge.AddRun(repo, "millhand/work", forgetest.Run{Name: "test", Status: "failure", Log: "FAIL: TestWork"})
	}
	f.forge.AddNote(forgetest.Note{Repo: "acme/talk", Number: 1, Author: "ada", Body: "Please add more."})
	return f
}

// push adds a file to the base of a repository.
func (f *fleet) push(repo, name string) {
	f.t.Helper()
	f.git("clone", "-q", "../acme/"+repo+".git", "../clone-"+repo)
	f.write("clone-"+repo+"/"+name, "of the base\n", 0o600)
	f.git("-C", "../clone-"+repo, "add", "-A")
	f.git("-C", "../clone-"+repo, "commit", "-q", "-m", "base")
	f.git("-C", "../clone-"+repo, "push", "-q")
}

var fleetPrompt = regexp.MustCompile(`Do work in (\S+)\.`)

// play is the model. What it does follows from the conversation.
func (f *fleet) play(req wiretest.Request) *script.Turn {
	repo, last := "", ""
	for _, m := range req.Messages {
		if found := fleetPrompt.FindStringSubmatch(m.Content); found != nil && repo == "" {
			repo = found[1]
		}
		if m.Role == "user" {
			last, _, _ = strings.Cut(m.Content, "\n")
		}
	}
	n := req.Responses()
	turn := &script.Turn{Text: "Done.", Finish: model.FinishStop, Usage: &money.Usage{Input: int64(1000 + 10*n), Output: 100}}
	if n%2 == 0 {
		command := map[bool]string{true: "echo work >work.txt", false: "echo more >>more.txt"}[n == 0 && !strings.HasPrefix(last, "A script")]
		if strings.HasPrefix(last, "Resolve") {
			command = "printf 'of the base\\nwork\\n' >work.txt"
		}
		input, _ := json.Marshal(map[string]string{"command": command, "description": "work"}) //nolint:errchkjson // strings can be encoded
		turn.Calls = []model.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: "bash", Input: string(input)}}
		turn.Finish = model.FinishTools
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served[fmt.Sprintf("%s, request %d", repo, n+1)]++
	return turn
}

// millhand runs a process, and returns its exit code, or 128 plus the signal that ended it.
func (f *fleet) millhand(args ...string) int { return f.with(nil, args...) }

func (f *fleet) with(variables []string, args ...string) int {
	f.t.Helper()
	cmd := f.run(f.t.Context(), "r")
	cmd.Args = append([]string{"millhand"}, args...)
	cmd.Env = append(append(cmd.Env, "FORGE_TOKEN="+forgeToken), variables...)
	fmt.Fprintf(&f.out, "$ %s %s\n", strings.Join(variables, " "), strings.Join(cmd.Args, " "))
	cmd.Stdout, cmd.Stderr = &f.out, &f.out
	return exitCode(f.t, cmd.Run())
}

func (f *fleet) follow(variables ...string) int {
	f.t.Helper()
	return f.with(variables, "follow", "../r")
}

// check checks the forge, the repositories and the model's ledger, and that another pass does
// nothing. At most so many requests may have been repeated: those that kills interrupted.
func (f *fleet) check(variant string, kills int) {
	f.t.Helper()
	f.mu.Lock()
	requests, repeated := 0, 0
	for _, n := range f.served {
		requests, repeated = requests+n, repeated+n-1
	}
	conversations := len(f.served)
	f.mu.Unlock()
	if conversations != 2*4+2*4 || repeated > kills {
		f.t.Errorf("%s: %d requests, of which %d were repeated: %v", variant, conversations, repeated, f.served)
	}
	for repo, want := range map[string]string{"red": "2", "late": "1", "hard": "1", "talk": "2", "made": "2"} {
		git := []string{"--git-dir", "../acme/" + repo + ".git"}
		if n := f.git(append(git, "rev-list", "--count", "main..millhand/work")...); n != want {
			f.t.Errorf("%s: the branch of %s has %s commits, want %s", variant, repo, n, want)
		}
		if n := f.git(append(git, "rev-list", "--count", "millhand/work..main")...); n != "0" {
			f.t.Errorf("%s: the branch of %s is behind by %s commits", variant, repo, n)
		}
	}
	comments := map[string]int{}
	for _, n := range f.forge.Notes() {
		if n.Author == "mill" {
			comments[n.Repo]++
		}
		if strings.Contains(n.Body, "in progress") {
			f.t.Errorf("%s: %s", variant, n.Body)
		}
	}
	for repo, n := range comments {
		if n != 1 {
			f.t.Errorf("%s: %d comments in %s", variant, n, repo)
		}
	}
	if pulls := f.forge.Pulls(); len(pulls) != len(followed) {
		f.t.Errorf("%s: %d pull requests", variant, len(pulls))
	}
	events, err := os.ReadFile(filepath.Join(f.dir, "r/events.jsonl"))
	writes := f.writes()
	if code := f.follow(); code != 0 {
		f.t.Errorf("%s: exit code %d of the last pass", variant, code)
	}
	after, err2 := os.ReadFile(filepath.Join(f.dir, "r/events.jsonl"))
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(events, after) || f.writes() != writes {
		f.t.Errorf("%s: the last pass did something (%d writes to the forge before it, %d after): %v", variant, writes, f.writes(), err)
	}
}

// writes returns the number of requests that change something on the forge.
func (f *fleet) writes() (n int) {
	for _, c := range f.forge.Calls() {
		if c.Method != http.MethodGet {
			n++
		}
	}
	return n
}
