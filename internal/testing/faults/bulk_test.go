package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/wiretest"
	"github.com/millhand/millhand/report"
)

// The secrets of a bulk run: of the forge, and one that the model writes into its texts.
const (
	forgeToken = "forge-token-4711-4711"
	password   = "correct-horse-battery-4711"
)

const (
	bulkParallel = 4     // jobs that run concurrently
	bulkCost     = "5"   // USD, the run's budget
	bulkPrice    = 1e-06 // USD for a token
)

// bulkManifest is the manifest of a bulk run without its tasks. The verbs are the servers of the
// model and of the forge, and the latter's host and port.
const bulkManifest = `version: 1
model: responses/m
profile: build
allow_dirty: true
providers: {responses: {kind: responses, base_url: %s/v1}}
prices: {responses/m: {input: 1, output: 1}, responses/n: {input: 1, output: 1}}
forges: {"%[3]s": {kind: gitea, token_env: FORGE_TOKEN}}
`

// bulkRepos are the repositories of a bulk run, by name. The verb is the server of the forge.
var bulkRepos = map[string]string{"shop": "{path: shop}", "api": `{url: "%s/acme/api.git"}`}

// bulkTask is a task of a bulk run. Tasks differ by their number modulo 4: one whose first changes a reviewer rejects, one whose
// agent reports completion too early and whose hunks are accounted for, one with setup commands and a subagent whose model escalates,
// and one whose branch gets no pull request. Modulo 8, the second of those that escalate starts from the base again, and a subagent does the
// work of the second of the last. Task everything
// has all keys of the others.
const bulkTask = `  - id: j%[1]d
    prompt: Do work j%[1]d in ${{ repo.name }}.
    setup: [%[2]s]
    verify: [{run: grep -q done work-j%[1]d.txt}]
    commit: {branch: millhand/j%[1]d}
    publish: {mode: %[3]s}
%[4]s`

// bulk is a run of many jobs on two repositories, a path and a url, whose branches are pushed by
// HTTP to a forge, where most get pull requests.
type bulk struct {
	*world
	tasks   []int    // numbers
	repos   []string // on which each task runs
	forge   *forgetest.Server
	variant string // of the run, for failures

	kills int
	out   bytes.Buffer // of all processes

	mu     sync.Mutex
	asked  func(request string) // called with the name of each request, if it is not nil
	served map[string]int       // responses, by session and number
	cost   float64              // of the responses, in USD
	paid   int                  // responses
}

// bulkTemplate makes what every bulk run starts with.
func bulkTemplate(t *testing.T) string {
	t.Helper()
	dir := template(t)
	w := &world{t: t, dir: dir}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "acme"), 0o700), os.Rename(filepath.Join(dir, "origin.git"), filepath.Join(dir, "acme/shop.git"))); err != nil {
		t.Fatal(err)
	}
	w.git("clone", "-q", "--bare", "../acme/shop.git", "../acme/api.git")
	for _, repo := range []string{"shop", "api"} {
		w.git("--git-dir", "../acme/"+repo+".git", "config", "http.receivepack", "true")
	}
	return dir
}

// newBulk returns a run of a number of tasks on both repositories.
func newBulk(t *testing.T, template string, tasks int) *bulk {
	t.Helper()
	var numbers []int
	for i := range tasks {
		numbers = append(numbers, i)
	}
	return newBulkOf(t, template, numbers, slices.Sorted(maps.Keys(bulkRepos)))
}

// newBulkOf copies the template, and serves the model and the forge.
func newBulkOf(t *testing.T, template string, tasks []int, repos []string) *bulk {
	t.Helper()
	b := &bulk{tasks: tasks, repos: repos, served: map[string]int{}}
	b.world = newWorld(t, template, func(s *wiretest.Server) { s.Play = b.play })
	b.forge = &forgetest.Server{Kind: "gitea", Token: forgeToken, User: "mill", Resolve: func(repo, branch string) string {
		out, err := exec.Command("git", "-C", filepath.Join(b.dir, repo+".git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}}
	b.forge.Add(forgetest.Repo{Owner: "acme", Name: "shop"}, forgetest.Repo{Owner: "acme", Name: "api"})
	backend := b.serveGit()
	b.forge.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); token != forgeToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
	server := httptest.NewServer(b.forge)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b.git("config", "remote.origin.url", server.URL+"/acme/shop.git")
	text, err := os.ReadFile(filepath.Join(b.dir, "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	model := regexp.MustCompile(`base_url: (\S+)/v1`).FindSubmatch(text)[1]
	var manifest strings.Builder
	fmt.Fprintf(&manifest, bulkManifest, model, server.URL, strings.TrimPrefix(server.URL, "http://"))
	manifest.WriteString("repos:\n")
	for _, name := range repos {
		manifest.WriteString("  - " + strings.ReplaceAll(bulkRepos[name], "%s", server.URL) + "\n")
	}
	manifest.WriteString("tasks:\n")
	for _, i := range tasks {
		setup, mode, keys := "", "pr", ""
		if !escalates(i) {
			keys = "    attempts: 2\n"
		}
		if isReviewed(i) {
			keys += "    review: {}\n"
		}
		if isAblated(i) {
			keys += "    ablate: {jobs: 2}\n"
		}
		if escalates(i) {
			setup = `mkdir -p build, "echo made >build/made.txt"`
			keys += "    escalate: responses/n\n    keep: " + escalatesFrom(i) + "\n"
		}
		if !pulls(i) {
			mode = "push"
		}
		fmt.Fprintf(&manifest, bulkTask, i, setup, mode, keys)
	}
	b.write("run.yaml", manifest.String(), 0o600)
	t.Cleanup(func() {
		if t.Failed() {
			b.keep()
		}
	})
	return b
}

// everything is the number of a task that escalates, whose changes are reviewed, and whose hunks are accounted for.
const everything = 98

func isReviewed(task int) bool { return task%4 == 0 || task == everything }
func isAblated(task int) bool  { return task%4 == 1 || task == everything }
func escalates(task int) bool  { return task%4 == 2 }

// delegates reports whether an agent of the task does its work.
func delegates(task int) bool { return task%8 == 7 }

// pulls reports whether the branches of a task get pull requests.
func pulls(task int) bool { return task%4 != 3 }

// numberOf returns the number of a task.
func numberOf(task string) (number int) {
	_, _ = fmt.Sscanf(task, "j%d", &number)
	return number
}

// escalatesFrom returns what the second model of a task starts from.
func escalatesFrom(task int) string {
	if task%8 == 6 {
		return "base"
	}
	return "diff"
}

// keep copies the world for whoever looks into a failure, and logs how to repeat it.
func (b *bulk) keep() {
	dir, err := os.MkdirTemp("", "faults-bulk-")
	if err == nil {
		err = errors.Join(exec.Command("cp", "-a", b.dir, dir).Run(), os.WriteFile(filepath.Join(dir, "output"), b.out.Bytes(), 0o600))
	}
	b.t.Logf("%s; report directory: %s/w/r (error %v), output of all processes: %[2]s/output", b.variant, dir, err)
}

var bulkPrompt = regexp.MustCompile(`(Do|Look at) work (j\d+) in (\S+)\.`)

// play is the model of all sessions.
func (b *bulk) play(req wiretest.Request) *script.Turn {
	var session []string
	reviews := false
	for _, m := range req.Messages {
		reviews = reviews || strings.HasPrefix(m.Content, "Review the changes")
		if session = bulkPrompt.FindStringSubmatch(m.Content); session != nil {
			break
		}
	}
	if session == nil {
		b.t.Error("a request without a prompt")
		return &script.Turn{Text: "?", Finish: model.FinishStop}
	}
	n, task := req.Responses(), session[2]
	turn := &script.Turn{Text: "The work is complete. The password is " + password + ".", Finish: model.FinishStop, Delay: 10 * time.Millisecond}
	call := func(tool string, args map[string]string) {
		input, _ := json.Marshal(args) //nolint:errchkjson // strings can be encoded
		turn.Calls = append(turn.Calls, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, len(turn.Calls)), Name: tool, Input: string(input)})
		turn.Finish = model.FinishTools
	}
	number := numberOf(task)
	file := "work-" + task + ".txt"
	child, second := session[1] != "Do", req.Model == "n"
	if reviews {
		session[1] = "Review"
	}
	switch {
	case reviews && n == 0:
		call("read", map[string]string{"filePath": file})
	case reviews && n == 1:
		turn.Text = `{"verdict": "rejected", "objections": ["` + file + `:3 is too much"]}`
	case reviews:
		turn.Text = `{"verdict": "accepted", "objections": []}`
	case child && delegates(number) && n < 2:
		call("bash", map[string]string{"command": []string{"printf do >>", "echo ne >>"}[n] + file, "description": "complete the file"})
	case child && n == 0:
		call("read", map[string]string{"filePath": file})
	case child:
	case second && n == 0 && escalatesFrom(number) == "diff":
		call("read", map[string]string{"filePath": file})
		call("bash", map[string]string{"command": "echo done >>" + file, "description": "complete the file"})
	case second && n == 0:
		call("bash", map[string]string{"command": "test ! -e " + file + " && printf 'begun\\ndone\\n' >" + file, "description": "write the file"})
	case second:
	case n == 0:
		call("write", map[string]string{"filePath": file, "content": "begun\n"})
	case n == 1 && number%4 == 2:
		call("task", map[string]string{"description": "look", "prompt": "Look at work " + task + " in " + session[3] + ".", "subagent_type": "explore"})
		call("bash", map[string]string{"command": "cat build/made.txt", "description": "look at what setup made"})
	case n == 1 && delegates(number):
		call("task", map[string]string{"description": "complete", "prompt": "Look at work " + task + " in " + session[3] + ".", "subagent_type": "general"})
	case n == 2 && delegates(number):
	case n == 1:
		call("read", map[string]string{"filePath": file})
		call("bash", map[string]string{"command": "echo " + password + "; cat " + file, "description": "look at the file"})
	case n == 2 && number%4 == 0:
		call("bash", map[string]string{"command": "printf 'done\\ntoo much\\n' >>" + file, "description": "write too much"})
	case n == 4 && number%4 == 0:
		call("write", map[string]string{"filePath": file, "content": "begun\ndone\n"})
	case n == 2 && (number%4 == 1 || number%4 == 2): // too early
	case n == 2 || n == 3 && number%4 == 1:
		call("bash", map[string]string{"command": "sleep 60 >/dev/null 2>&1 & echo done >>" + file, "description": "complete the file"})
	}
	turn.Usage = &money.Usage{Input: int64(1000 + 10*n), Output: 100}
	b.mu.Lock()
	defer b.mu.Unlock()
	request := fmt.Sprintf("%s %s in %s, request %d", session[1], task, session[3], n+1)
	if second {
		request += " to the second model"
	}
	b.served[request]++
	if b.asked != nil {
		b.asked(request)
	}
	b.cost += float64(turn.Usage.Input+turn.Usage.Output) * bulkPrice
	b.paid++
	return turn
}

// repeated returns how many requests were served more than once, except those of some jobs.
func (b *bulk) repeated(except ...string) (n int, which []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range slices.Sorted(maps.Keys(b.served)) {
		if again := b.served[request] - 1; again > 0 && !slices.Contains(except, bulkRequest.FindString(request)) {
			n += again
			which = append(which, request)
		}
	}
	return n, which
}

// checkRepeated checks that each kill has repeated at most one request of a job: the one that it interrupted.
func (b *bulk) checkRepeated() {
	b.t.Helper()
	n, which := b.repeated()
	if n > b.kills*bulkParallel {
		b.t.Errorf("%d requests were repeated after %d kills: %q", n, b.kills, which)
	}
	jobs := map[string]int{}
	for _, request := range which {
		job := bulkRequest.FindString(request)
		if jobs[job] += b.served[request] - 1; jobs[job] > b.kills {
			b.t.Errorf("%d requests of %s were repeated after %d kills: %q", jobs[job], job, b.kills, which)
		}
	}
}

// bulkRequest finds the job in the name of a request.
var bulkRequest = regexp.MustCompile(`j\d+ in \w+`)

// bulkModels finds the models of a job that has escalated in its pull request.
var bulkModels = regexp.MustCompile(`models responses/m \(\$0\.0\d+\), responses/n \(\$0\.0\d+\)`)

// begun reports whether the run can be resumed: its first event is complete.
func (b *bulk) begun() bool {
	events, _ := os.ReadFile(filepath.Join(b.dir, "r/events.jsonl"))
	return bytes.Contains(events, []byte("\n"))
}

// next prepares the next process of the run.
func (b *bulk) next(ctx context.Context, variables ...string) *exec.Cmd {
	cmd := b.run(ctx, "r")
	cmd.Args = []string{"millhand", "run", "../run.yaml", "--report-dir", "../r", "--jobs", fmt.Sprint(bulkParallel), "--max-cost", bulkCost}
	if b.begun() {
		cmd.Args = []string{"millhand", "run", "--resume", "../r", "--jobs", fmt.Sprint(bulkParallel)}
	}
	cmd.Env = append(append(cmd.Env, "FORGE_TOKEN="+forgeToken, "DEPLOY_PASSWORD="+password), variables...)
	fmt.Fprintf(&b.out, "$ %s %s\n", strings.Join(variables, " "), strings.Join(cmd.Args, " "))
	cmd.Stdout, cmd.Stderr = &b.out, &b.out
	cmd.WaitDelay = 30 * time.Second // a command that was left has the output open
	return cmd
}

// ended runs a process of the run, and returns its exit code, or 128 plus the signal that ended it.
func (b *bulk) ended(variables ...string) int {
	b.t.Helper()
	code := exitCode(b.t, b.next(b.t.Context(), variables...).Run())
	if code == 128+9 {
		b.kills++
	}
	fmt.Fprintf(&b.out, "exit code %d\n", code)
	return code
}

// finish runs the last process of the run, which must pass, and checks everything.
func (b *bulk) finish(variables ...string) {
	b.t.Helper()
	if code := b.ended(variables...); code != 0 {
		b.t.Errorf("exit code %d of the last process of the run", code)
	}
	b.check()
}

// check checks the repositories, the forge, the report and the cost after the end of the run.
func (b *bulk) check() {
	b.t.Helper()
	b.checkProcesses()
	b.checkLeftovers()
	b.checkEvents("r")
	b.checkBulkReport()
	b.checkTrials()
	b.checkBulkRepositories()
	b.checkPulls()
	b.checkBulkCost()
	b.checkSecrets()
}

// hash returns a branch's commit in a repository; "" for none.
func (b *bulk) hash(gitDir, branch string) string {
	out, err := b.tryGit("--git-dir", gitDir, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return out
}

// checkBulkReport checks that the report has every job once, passed, with its one commit, its push
// and its pull request, and is what its events result in.
func (b *bulk) checkBulkReport() {
	b.t.Helper()
	written, err := os.ReadFile(filepath.Join(b.dir, "r/report.json"))
	if err != nil {
		b.t.Error(err)
		return
	}
	var doc struct {
		Jobs []struct {
			ID, Task, Outcome, Reason string
			Commit                    *struct{ Hash, Branch string }
			Published                 *struct{ Branch, Hash string }
			PullRequest               *event.PullRequest `json:"pull_request"`
			Hunks                     *event.Hunks       `json:"hunks"`
			Escalation                []report.Escalation
		}
	}
	if err := json.Unmarshal(written, &doc); err != nil {
		b.t.Error(err)
		return
	}
	cmd := exec.CommandContext(b.t.Context(), "millhand", "report", "json", "r")
	cmd.Dir = b.dir
	if made, err := cmd.Output(); err != nil || !bytes.Equal(made, written) {
		b.t.Errorf("report.json differs from `millhand report json` (%v)", err)
	}
	seen := map[string]int{}
	for _, j := range doc.Jobs {
		seen[j.ID]++
		if j.Outcome != "passed" || j.Commit == nil || j.Published == nil || j.Commit.Hash != j.Published.Hash {
			b.t.Errorf("job %s: %s: %s; commit %v, published %v", j.ID, j.Outcome, j.Reason, j.Commit, j.Published)
			continue
		}
		repo := b.repos[0]
		if len(b.repos) > 1 && strings.Contains(j.ID, "shop") {
			repo = "shop"
		}
		if repo == "shop" {
			if got := b.hash(".git", j.Commit.Branch); got != j.Commit.Hash {
				b.t.Errorf("job %s: the branch is at %q, reported %s", j.ID, got, j.Commit.Hash)
			}
		}
		if got := b.hash("../acme/"+repo+".git", j.Commit.Branch); got != j.Commit.Hash {
			b.t.Errorf("job %s: the remote's branch is at %q, reported %s", j.ID, got, j.Commit.Hash)
		}
		number := numberOf(j.Task)
		if accounted := j.Hunks != nil && j.Hunks.Needed == 1 && j.Hunks.Untried == 0; accounted != isAblated(number) {
			b.t.Errorf("job %s: hunks %+v", j.ID, j.Hunks)
		}
		b.checkEscalation(j.ID, j.Escalation, number)
		if (j.PullRequest != nil) != pulls(number) || j.PullRequest != nil && !j.PullRequest.Created {
			b.t.Errorf("job %s: pull request %v", j.ID, j.PullRequest)
		}
	}
	if want := len(b.tasks) * len(b.repos); len(doc.Jobs) != want || len(seen) != want {
		b.t.Errorf("jobs of the report are %v", seen)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "r/.[a-z]*.*")); len(left) > 1 {
		b.t.Errorf("temporary files in the report directory: %q", left)
	}
}

// checkEscalation checks that a job has escalated once, or not. The second model has another attempt after a rejection.
func (b *bulk) checkEscalation(job string, rows []report.Escalation, task int) {
	b.t.Helper()
	var models []string
	for _, row := range rows {
		models = append(models, fmt.Sprintf("%s %s %d", row.Model, row.Outcome, row.Attempts))
		if row.CostUSD == nil || *row.CostUSD == 0 {
			b.t.Errorf("job %s: the cost of %s is %v", job, row.Model, row.CostUSD)
		}
	}
	want := map[bool]string{true: "responses/m failed 1, responses/n passed 1"}[escalates(task)]
	if task == everything {
		want = "responses/m failed 1, responses/n passed 2"
	}
	if got := strings.Join(models, ", "); got != want {
		b.t.Errorf("job %s: models are %q", job, got)
	}
}

// checkTrials checks that no trial of hunks was repeated after its event.
func (b *bulk) checkTrials() {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "r/events.jsonl"))
	if err != nil {
		b.t.Error(err)
		return
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Trial == nil {
			continue
		}
		if seen[e.Job+e.Trial.Key] {
			b.t.Errorf("job %s: trial %s was repeated", e.Job, e.Trial.Key)
		}
		seen[e.Job+e.Trial.Key] = true
	}
}

// checkBulkRepositories checks that each branch has one commit with the complete work, that there
// are no other references, and that the user's repository is otherwise unchanged.
func (b *bulk) checkBulkRepositories() {
	b.t.Helper()
	if now := b.state(); !maps.Equal(now, b.before) {
		b.t.Errorf("the user's repository changed:\n%v\nwas\n%v", now, b.before)
	}
	for gitDir, repo := range map[string]string{".git": "shop", "../acme/shop.git": "shop", "../acme/api.git": "api"} {
		want := []string{"refs/heads/main"}
		for _, i := range b.tasks {
			if slices.Contains(b.repos, repo) {
				want = append(want, fmt.Sprintf("refs/heads/millhand/j%d", i))
			}
		}
		slices.Sort(want)
		b.git("--git-dir", gitDir, "fsck", "--strict", "--no-dangling")
		refs := strings.Fields(b.git("--git-dir", gitDir, "for-each-ref", "--format=%(refname)", "refs/heads"))
		if slices.Sort(refs); !slices.Equal(refs, want) {
			b.t.Errorf("references of %s: %q", gitDir, refs)
		}
		for _, ref := range refs {
			task, found := strings.CutPrefix(ref, "refs/heads/millhand/")
			if !found {
				continue
			}
			if got := b.git("--git-dir", gitDir, "rev-list", "--count", "main.."+ref); got != "1" {
				b.t.Errorf("%s of %s has %s commits", ref, gitDir, got)
			}
			if got := b.git("--git-dir", gitDir, "diff", "--name-status", "main", ref); got != "A\twork-"+task+".txt" {
				b.t.Errorf("%s of %s: changes are %q", ref, gitDir, got)
			}
			if got := b.git("--git-dir", gitDir, "show", ref+":work-"+task+".txt"); got != "begun\ndone" {
				b.t.Errorf("%s of %s: the file is %q", ref, gitDir, got)
			}
		}
		locks, _ := filepath.Glob(filepath.Join(b.dir, "shop", gitDir, "refs/heads/millhand/*.lock"))
		if len(locks) > 0 {
			b.t.Errorf("locks: %q", locks)
		}
	}
}

// checkPulls checks that each branch has its one pull request.
func (b *bulk) checkPulls() {
	b.t.Helper()
	heads, want := map[string]int{}, 0
	for _, p := range b.forge.Pulls() {
		heads[p.Repo+" "+p.Branch]++
		number := numberOf(strings.TrimPrefix(p.Branch, "millhand/"))
		if p.State != "open" || p.Base != "main" || !pulls(number) {
			b.t.Errorf("pull request %+v", p)
		}
		if accepted := strings.Contains(p.Body, ": accepted"); accepted != isReviewed(number) {
			b.t.Errorf("pull request %d: accepted by a review: %t", p.Number, accepted)
		}
		if escalated := bulkModels.MatchString(p.Body); escalated != escalates(number) {
			b.t.Errorf("pull request %d: %s", p.Number, p.Body)
		}
		if strings.Contains(p.Title+p.Body, password) {
			b.t.Errorf("pull request %d contains the password", p.Number)
		}
		if !strings.Contains(p.Body, "The work is complete.") || !strings.Contains(p.Body, "| passed |") || strings.Contains(p.Body, "cost unknown") {
			b.t.Errorf("pull request %d: %s", p.Number, p.Body)
		}
	}
	for _, i := range b.tasks {
		if pulls(i) {
			want += len(b.repos)
		}
	}
	for head, n := range heads {
		if n != 1 {
			b.t.Errorf("%d pull requests for %s", n, head)
		}
	}
	if len(heads) != want {
		b.t.Errorf("%d branches have pull requests, want %d", len(heads), want)
	}
}

// checkBulkCost compares the turns in the events with the requests of the server: each response
// is counted once, and each turn ends once.
func (b *bulk) checkBulkCost() {
	b.t.Helper()
	var sum float64
	started, done, counted := map[string]int{}, map[string]int{}, 0
	data, err := os.ReadFile(filepath.Join(b.dir, "r/events.jsonl"))
	if err != nil {
		b.t.Error(err)
		return
	}
	for line := range bytes.Lines(data) {
		var e struct {
			Type, Session string
			Turn          *struct {
				Number  int
				CostUSD float64 `json:"cost_usd"`
				Usage   struct{ Output int }
				Lost    json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Turn == nil {
			continue
		}
		key := fmt.Sprintf("%s turn %d", e.Session, e.Turn.Number)
		if e.Type == "turn.started" {
			started[key]++
			continue
		}
		done[key]++
		sum += e.Turn.CostUSD
		if len(e.Turn.Lost) == 0 && e.Turn.Usage.Output > 0 { // 0 of a response that a signal has prevented
			counted++
		}
	}
	for key, n := range started {
		if n != 1 || done[key] != 1 {
			b.t.Errorf("%s started %d times and ended %d times", key, n, done[key])
		}
	}
	b.mu.Lock()
	paid, price := b.paid, b.cost
	b.mu.Unlock()
	cost := b.report("r").Run.Totals.CostUSD
	const dearest = 1200 * bulkPrice
	lost := float64(paid - counted)
	switch {
	case cost == nil:
		b.t.Error("the cost is unknown")
	case *cost > sum+1e-9 || *cost < sum-1e-9 || *cost > 5 || counted > paid || *cost < price-lost*dearest-1e-9:
		b.t.Errorf("the cost is $%g, of the turns in the events $%g, and the server sent $%g with %g lost responses", *cost, sum, price, lost)
	}
}

// checkSecrets checks that no file of the run contains a secret.
func (b *bulk) checkSecrets() {
	b.t.Helper()
	check := func(name string, data []byte) {
		for _, secret := range []string{forgeToken, password} {
			if bytes.Contains(data, []byte(secret)) {
				b.t.Errorf("%s contains the secret %s", name, secret)
			}
		}
	}
	for line := range bytes.Lines(b.out.Bytes()) {
		if !bytes.HasPrefix(line, []byte("$ ")) {
			check("the output", line)
		}
	}
	for _, dir := range []string{"r", "home", "tmp", "shop", "acme"} {
		err := filepath.WalkDir(filepath.Join(b.dir, dir), func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			check(name, data)
			return err
		})
		if err != nil {
			b.t.Error(err)
		}
	}
}
