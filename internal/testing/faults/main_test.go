package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func TestMain(m *testing.M) {
	if !nightly.On() { // parallel tests wait for leases rather than for a processor
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"millhand": start, "nats-server": serveQueue})
}

// manifest is the manifest without its tasks. The verb is the server's address.
const manifest = `version: 1
model: responses/m
profile: build
allow_dirty: true
providers:
  chat: {kind: openai, base_url: %[1]s, retry: {max_wait: 10s}}
  responses: {kind: responses, base_url: %[1]s, retry: {max_wait: 10s}}
  messages: {kind: anthropic, base_url: %[1]s, retry: {max_wait: 10s}}
prices: {chat/m: {input: 1, output: 1}, responses/m: {input: 1, output: 1}, messages/m: {input: 1, output: 1}}
tasks:
`

// jobs is how many jobs the run has.
const jobs = 6

// world is one user's repository with a remote, and the manifest of a run on it.
type world struct {
	t      *testing.T
	dir    string
	before map[string]string // what the user's repository was, by what was asked of git
}

// serveGit serves the repositories of the world by HTTP.
func (w *world) serveGit() http.Handler {
	backend, err := gittest.HTTP(w.t.Context(), w.dir, w.t.Output(), "HOME="+filepath.Join(w.dir, "home"), "PATH="+os.Getenv("PATH"))
	if err != nil {
		w.t.Fatal(err)
	}
	return backend
}

// template makes what every world is a copy of: a repository with a remote, and with
// changes of the user's own of every kind.
func template(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir := t.TempDir()
	w := &world{t: t, dir: dir}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, sub := range []string{"home", "tmp", "shop/src"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("home/.gitconfig", "[user]\n\tname = Tess Tester\n\temail = tess@example.com\n[safe]\n\tdirectory = *\n")
	write("shop/staged.txt", "1\n")
	write("shop/changed.txt", "1\n")
	write("shop/stashed.txt", "1\n")
	write("shop/.gitignore", "/build/\n")
	for i := range 40 {
		write(fmt.Sprintf("shop/src/file%02d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 50))
	}
	w.git("init", "-q", "-b", "main")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "start")
	w.git("clone", "-q", "--bare", ".", "../origin.git")
	w.git("remote", "add", "origin", "../origin.git")
	write("shop/stashed.txt", "2\n")
	w.git("stash", "-q")
	write("shop/staged.txt", "2\n")
	w.git("add", "staged.txt")
	write("shop/changed.txt", "2\n")
	write("shop/untracked.txt", "1\n")
	return dir
}

// newWorld copies the template, and serves a model for the run.
func newWorld(t *testing.T, template string, serve func(*wiretest.Server)) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "w")}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", template, w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.before = w.state()
	server := wiretest.New(nil)
	server.Play = play
	if serve != nil {
		serve(server)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(func() { listening.CloseClientConnections(); listening.Close() })
	var text strings.Builder
	fmt.Fprintf(&text, manifest, listening.URL+"/v1")
	for i := range jobs {
		fmt.Fprintf(&text, "  - {id: j%d, prompt: Do work j%d., verify: [{run: grep -q done work-j%d.txt}], commit: {branch: millhand/j%d, if_exists: skip}, publish: {mode: push}}\n", i, i, i, i)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "run.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

var ofJob = regexp.MustCompile(`Do work (j\d)\.`)

// play is the model: it writes a file, completes it by a command, and is done.
func play(req wiretest.Request) *script.Turn {
	job, results := "", 0
	for _, m := range req.Messages {
		if found := ofJob.FindStringSubmatch(m.Content); found != nil && job == "" {
			job = found[1]
		}
		if m.Role == "tool" {
			results++
		}
	}
	call := func(tool string, args map[string]string) *script.Turn {
		input, _ := json.Marshal(args) //nolint:errchkjson // strings can be encoded
		return &script.Turn{
			Calls: []model.ToolCall{{ID: fmt.Sprintf("call_%d", results), Name: tool, Input: string(input)}}, Finish: model.FinishTools,
			Delay: 20 * time.Millisecond,
		}
	}
	file := "work-" + job + ".txt"
	switch results {
	case 0:
		return call("write", map[string]string{"filePath": file, "content": "begun\n"})
	case 1:
		return call("bash", map[string]string{"command": "sleep 0.05; echo done >>" + file, "description": "complete the file"})
	}
	return &script.Turn{Text: "The work is complete.", Finish: model.FinishStop}
}

// run prepares a run of the manifest with its reports in a directory.
func (w *world) run(ctx context.Context, reports string, flags ...string) *exec.Cmd {
	args := append([]string{"run", "../run.yaml", "--report-dir", "../" + reports, "--jobs", "2"}, flags...)
	cmd := exec.CommandContext(ctx, "millhand", args...)
	cmd.Dir = filepath.Join(w.dir, "shop")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "home"), "TMPDIR=" + filepath.Join(w.dir, "tmp"), "LC_ALL=C",
	}
	return cmd
}

// git runs git in the user's repository and returns what it printed.
func (w *world) git(args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(args...)
	if err != nil {
		w.t.Errorf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) tryGit(args ...string) (string, error) {
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = filepath.Join(w.dir, "shop")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "home"), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// state is what a run must not change in the user's repository.
func (w *world) state() map[string]string {
	w.t.Helper()
	state := map[string]string{}
	for _, ask := range []string{"symbolic-ref HEAD", "rev-parse main", "status --porcelain -uall", "diff --cached", "diff", "stash list", "rev-parse stash@{0}"} {
		state[ask] = w.git(strings.Fields(ask)...)
	}
	return state
}

// checkRepositories checks that the user's repository is unchanged, that both
// repositories pass fsck, and that each branch of a job is its complete commit.
func (w *world) checkRepositories() {
	w.t.Helper()
	if now := w.state(); !maps.Equal(now, w.before) {
		w.t.Errorf("the user's repository changed:\n%v\nwas\n%v", now, w.before)
	}
	w.git("fsck", "--strict", "--no-dangling")
	w.git("--git-dir", "../origin.git", "fsck", "--strict", "--no-dangling")
	for _, gitDir := range []string{".git", "../origin.git"} {
		for branch := range strings.FieldsSeq(w.git("--git-dir", gitDir, "for-each-ref", "--format=%(refname:short)", "refs/heads/millhand")) {
			job := strings.TrimPrefix(branch, "millhand/")
			if got := w.git("--git-dir", gitDir, "diff", "--name-status", "main", branch); got != "A\twork-"+job+".txt" {
				w.t.Errorf("%s of %s: changes are %q", branch, gitDir, got)
			}
			if got := w.git("--git-dir", gitDir, "show", branch+":work-"+job+".txt"); got != "begun\ndone" {
				w.t.Errorf("%s of %s: the file is %q", branch, gitDir, got)
			}
			if got := w.git("--git-dir", gitDir, "log", "-1", "--format=%(trailers:key=Millhand-Task)", branch); got == "" {
				w.t.Errorf("%s of %s: the commit has no trailer", branch, gitDir)
			}
		}
	}
}

type warning struct{ Job, Message string }

// reported holds the fields of a report that these tests compare.
type reported struct {
	Run struct {
		Outcome  string
		ExitCode int `json:"exit_code"`
		Totals   struct {
			Turns          int
			CostUSD        *float64 `json:"cost_usd"`
			CostUSDAtLeast *float64 `json:"cost_usd_at_least"`
		}
	}
	Warnings []warning
	Jobs     []struct {
		ID, Outcome, Reason string
		Commit              *struct{ Hash, Branch string }
		Published           *struct{ Branch, Hash string }
		Changes             []any
		Calls               []event.Call
	}
}

// report reads the report of a run as `millhand report json` makes it.
func (w *world) report(dir string) reported {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "millhand", "report", "json", dir)
	cmd.Dir, cmd.Stderr = w.dir, new(bytes.Buffer)
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("report json: %v: %s", err, cmd.Stderr)
	}
	var r reported
	if err := json.Unmarshal(out, &r); err != nil {
		w.t.Fatalf("report json: %v", err)
	}
	return r
}

// leaves reports whether a warning names the directory with the changes of a job, and it
// exists.
func (r reported) leaves(job string) bool {
	return slices.ContainsFunc(r.Warnings, func(w warning) bool {
		_, dir, ok := strings.Cut(w.Message, "neither as a patch nor as a commit: they are in ")
		info, err := os.Stat(dir)
		return ok && w.Job == job && err == nil && info.IsDir()
	})
}

// checkReport checks a report against the repositories: commits and published branches
// exist, and the changes of a job are saved as a patch that applies or, if the disk of
// the reports is full, committed or in its worktree, unless the run was killed before
// it could save them.
func (w *world) checkReport(dir string, killed bool) reported {
	w.t.Helper()
	r := w.report(dir)
	if len(r.Jobs) != jobs {
		w.t.Errorf("%d jobs are reported, and the run has %d", len(r.Jobs), jobs)
	}
	for _, j := range r.Jobs {
		if j.Commit != nil && j.Commit.Branch != "" {
			if got, err := w.tryGit("rev-parse", j.Commit.Branch); err != nil || got != j.Commit.Hash {
				w.t.Errorf("job %s: branch %s is at %s, reported %s", j.ID, j.Commit.Branch, got, j.Commit.Hash)
			}
		}
		if j.Published != nil && j.Published.Branch != "" {
			if got, err := w.tryGit("--git-dir", "../origin.git", "rev-parse", j.Published.Branch); err != nil || got != j.Commit.Hash {
				w.t.Errorf("job %s: the remote's branch %s is at %s, reported %s", j.ID, j.Published.Branch, got, j.Commit.Hash)
			}
		}
		if j.Outcome == "passed" && (j.Commit == nil || j.Published == nil) {
			w.t.Errorf("job %s passed, and has commit %v, published %v", j.ID, j.Commit, j.Published)
		}
		patch := filepath.Join(dir, "patches", j.ID+".patch")
		if found, _ := filepath.Glob(filepath.Join(w.dir, patch)); found != nil {
			w.git("apply", "--check", filepath.Join("..", patch))
		} else if len(j.Changes) > 0 && j.Commit == nil && !killed && !r.leaves(j.ID) {
			w.t.Errorf("job %s (%s) has changes, and neither a patch nor a commit: %s", j.ID, j.Outcome, j.Reason)
		}
	}
	return r
}

// checkEvents checks that each line of the events is complete.
func (w *world) checkEvents(dir string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, dir, "events.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if len(data) > 0 && !json.Valid(line) {
			w.t.Errorf("line %d of the events is no JSON: %.100q", i+1, line)
		}
	}
}

// checkProcesses waits until no process of this world is left.
func (w *world) checkProcesses() {
	w.t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			return
		}
	}
	w.t.Errorf("still running: %v", left)
}

// processes are those whose environment, arguments or directory name this world.
func (w *world) processes() []string {
	var found []string
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, pid := range pids {
		environ, _ := os.ReadFile(filepath.Join(pid, "environ"))
		args, _ := os.ReadFile(filepath.Join(pid, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(pid, "cwd"))
		if bytes.Contains(environ, []byte(w.dir)) || bytes.Contains(args, []byte(w.dir)) || strings.HasPrefix(cwd, w.dir) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(pid), args))
		}
	}
	return found
}

// checkLeftovers checks that a run that could end by itself left no worktree and no temporary
// file.
func (w *world) checkLeftovers() {
	w.t.Helper()
	if got := strings.Split(w.git("worktree", "list"), "\n"); len(got) != 1 {
		w.t.Errorf("worktrees: %q", got)
	}
	entries, err := os.ReadDir(filepath.Join(w.dir, "tmp"))
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { // of a run that was killed before it locked it, or before it had such a directory
		return strings.HasPrefix(e.Name(), "millhand-new-") || strings.HasPrefix(e.Name(), sandbox.ProbeName)
	})
	if err != nil || len(entries) > 0 {
		w.t.Errorf("temporary files: %v %v", entries, err)
	}
}

// counts adds up how the cases of a test ended.
type counts map[string]int

func (c counts) log(t *testing.T) {
	t.Helper()
	total := 0
	for _, key := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%5d %s", c[key], key)
		total += c[key]
	}
	t.Logf("%5d in all", total)
}
