package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestResume kills runs at random moments and resumes them, some of which are killed again,
// until they end. Nothing is lost, and nothing is done or paid for twice, except the
// requests that were in flight when the run was killed.
func TestResume(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	start := time.Now()
	undisturbed := newResumed(t, template, killing{sandbox: "auto", maxCost: "2"})
	undisturbed.end(0)
	took := time.Since(start)
	undisturbed.checkEnded()
	for n := range nightly.Count(2, 200, 1000) {
		c := newKilling(random, took, n)
		t.Run(c.String(), func(t *testing.T) {
			w := newResumed(t, template, c)
			for _, at := range c.at {
				if w.kill(at) {
					break
				}
			}
			w.end(0)
			w.checkEnded()
			most := len(undisturbed.served) + w.kills*parallel
			if len(w.served) > most {
				t.Errorf("the server saw %d requests, want at most %d", len(w.served), most)
			}
			ended[fmt.Sprintf("%d kills", w.kills)]++
		})
	}
	ended.log(t)
}

// TestResumeWithinBudget kills and resumes runs whose budget hardly suffices for an
// undisturbed run: with what was lost in kills, they never exceed it.
func TestResumeWithinBudget(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	const budget = 0.05
	for n := range nightly.Count(1, 40, 200) {
		c := newKilling(random, 3*time.Second, n)
		c.maxCost = fmt.Sprint(budget)
		t.Run(c.String(), func(t *testing.T) {
			w := newResumed(t, template, c)
			for _, at := range c.at {
				if w.kill(at) {
					break
				}
			}
			code := w.end(0, 5)
			w.checkProcesses()
			w.checkRepositories()
			w.checkLeftovers()
			served := 0.0
			for _, s := range w.served {
				served += s.cost
			}
			cost := w.report("r").Run.Totals.CostUSD
			if cost == nil || *cost > budget || served > budget {
				t.Errorf("the server sent $%g, reported is %v, of a budget of $%g", served, cost, budget)
			}
			ended[fmt.Sprintf("%d kills: exit code %d", w.kills, code)]++
		})
	}
	ended.log(t)
}

// parallel is the number of jobs that run concurrently.
const parallel = 2

// killing is when and how a run is killed.
type killing struct {
	at      []time.Duration // after the start of each process
	sandbox string
	http    bool // pushes by HTTP
	maxCost string
}

func newKilling(random *rand.Rand, span time.Duration, n int) killing {
	c := killing{maxCost: "2", sandbox: []string{"auto", "off"}[n%2], http: n/2%2 == 1, at: []time.Duration{moment(random, span*2/3)}}
	for random.IntN(3) > 0 && len(c.at) < 5 { // a process that resumes has less to do
		c.at = append(c.at, moment(random, span/2))
	}
	return c
}

func (c killing) String() string {
	return fmt.Sprintf("sandbox %s http %t budget %s killed after %v", c.sandbox, c.http, c.maxCost, c.at)
}

// resumed is a world with a run that is killed and resumed.
type resumed struct {
	*world
	killing
	kills int
	out   bytes.Buffer // of all processes

	mu     sync.Mutex
	served []servedTurn
}

// servedTurn is a response that the server sent.
type servedTurn struct {
	job  string
	turn int
	cost float64 // USD
}

// plainManifest is the manifest of a job that changes the user's files.
const plainManifest = `version: 1
model: responses/m
profile: build
allow_dirty: true
repos: [{path: plain}]
tasks:
  - {id: j9, prompt: Do work j9., attempts: 2, verify: [{run: grep -q done work-j9.txt}], commit: false}
`

func newResumed(t *testing.T, template string, c killing) *resumed {
	t.Helper()
	r := &resumed{killing: c}
	r.world = newWorld(t, template, func(s *wiretest.Server) { s.Play = r.play })
	name := filepath.Join(r.dir, "run.yaml")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.ReplaceAll(text, []byte("verify:"), []byte("attempts: 2, verify:")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(r.dir, "plain")
	script := "git init -q -b main . && echo 1 >own.txt && git add . && git commit -q -m start && echo 2 >own.txt && echo 3 >staged.txt && git add staged.txt"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "mkdir "+plain+" && cd "+plain+" && "+script)
	cmd.Env = r.run(t.Context(), "r").Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "inplace.yaml"), []byte(plainManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.http {
		r.git("config", "remote.origin.url", r.serveOrigin())
	}
	t.Cleanup(func() {
		if t.Failed() {
			r.keep()
		}
	})
	return r
}

// serveOrigin serves the remote by HTTP and returns its URL.
func (r *resumed) serveOrigin() string {
	r.git("--git-dir", "../origin.git", "config", "http.receivepack", "true")
	server := httptest.NewServer(r.serveGit())
	r.t.Cleanup(server.Close)
	return server.URL + "/origin.git"
}

// keep copies the world for whoever looks into a failure, and logs how to repeat it.
func (r *resumed) keep() {
	dir, err := os.MkdirTemp("", "faults-resume-")
	if err == nil {
		err = errors.Join(exec.Command("cp", "-a", r.dir, dir).Run(), os.WriteFile(filepath.Join(dir, "output"), r.out.Bytes(), 0o600))
	}
	r.t.Logf("%s; report directory: %s/w/r (error %v), output of all processes: %[2]s/output", r.killing, dir, err)
}

// play is the model: it writes a file, looks at it, reports completion too early, completes
// the file by a command that leaves a process, and reports completion.
func (r *resumed) play(req wiretest.Request) *script.Turn {
	job := ""
	results := map[string]int{}
	for _, m := range req.Messages {
		if found := ofJob.FindStringSubmatch(m.Content); found != nil && job == "" {
			job = found[1]
		}
		if m.Role == "tool" {
			results[m.ToolCallID]++
		}
	}
	n := req.Responses()
	turn := &script.Turn{Text: "The work is complete.", Finish: model.FinishStop}
	call := func(tool string, args map[string]string) {
		input, _ := json.Marshal(args) //nolint:errchkjson // strings can be encoded
		turn.Calls = append(turn.Calls, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, len(turn.Calls)), Name: tool, Input: string(input)})
		turn.Text, turn.Finish = "", model.FinishTools
	}
	file := "work-" + job + ".txt"
	switch n {
	case 0:
		call("write", map[string]string{"filePath": file, "content": "begun\n"})
	case 1:
		call("read", map[string]string{"filePath": file})
		call("bash", map[string]string{"command": "sleep 0.05; cat " + file, "description": "look at the file"})
	case 3:
		call("bash", map[string]string{"command": "sleep 60 >/dev/null 2>&1 & sleep 0.05; echo done >>" + file, "description": "complete the file"})
	}
	turn.Delay = 20 * time.Millisecond
	turn.Usage = &money.Usage{Input: int64(1000 + 10*n), Output: 100}
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := conversation(n); !maps.Equal(results, want) {
		r.t.Errorf("job %s: request %d has results %v, want %v", job, n+1, results, want)
	}
	r.served = append(r.served, servedTurn{job, n + 1, float64(1100+10*n) / 1e6})
	return turn
}

// conversation returns the results in a request after so many responses, by call.
func conversation(responses int) map[string]int {
	results := map[string]int{}
	for call, after := range map[string]int{"call_0_0": 0, "call_1_0": 1, "call_1_1": 1, "call_3_0": 3} {
		if responses > after {
			results[call] = 1
		}
	}
	return results
}

// next prepares the next process of the run.
func (r *resumed) next() *exec.Cmd {
	cmd := r.run(r.t.Context(), "r")
	cmd.Args = []string{"millhand", "run", "../run.yaml", "../inplace.yaml", "--report-dir", "../r", "--jobs", fmt.Sprint(parallel), "--sandbox", r.sandbox, "--max-cost", r.maxCost}
	if events, _ := os.ReadFile(filepath.Join(r.dir, "r/events.jsonl")); bytes.Contains(events, []byte("\n")) {
		cmd.Args = []string{"millhand", "run", "--resume", "../r", "--jobs", fmt.Sprint(parallel)}
	}
	fmt.Fprintf(&r.out, "$ %s\n", strings.Join(cmd.Args, " "))
	cmd.Stdout, cmd.Stderr = &r.out, &r.out
	cmd.WaitDelay = 30 * time.Second // a command that was left has the output open
	return cmd
}

// kill starts a process of the run, kills it after a time, and reports whether it ended
// before.
func (r *resumed) kill(at time.Duration) (over bool) {
	r.t.Helper()
	r.unlock()
	cmd := r.next()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(at)
	_ = cmd.Process.Kill() // it may have ended
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		if code != 0 && (code != 5 || r.maxCost == "2") {
			r.t.Errorf("exit code %d before the kill: %v", code, err)
		}
		return true
	}
	fmt.Fprintf(&r.out, "killed after %s\n", at)
	r.kills++
	return false
}

// end runs the last process of the run and returns its exit code, which must be permitted.
func (r *resumed) end(permitted ...int) int {
	r.t.Helper()
	r.unlock()
	code := exitCode(r.t, r.next().Run())
	if !slices.Contains(permitted, code) {
		r.t.Errorf("exit code %d of the last process of the run", code)
	}
	return code
}

// unlock removes the locks that git may have left on branches of the remote, when the process that
// it served was killed.
func (r *resumed) unlock() {
	left, _ := filepath.Glob(filepath.Join(r.dir, "origin.git/refs/heads/millhand/*.lock"))
	for _, lock := range left {
		fmt.Fprintf(&r.out, "left %s\n", lock)
		if err := os.Remove(lock); err != nil {
			r.t.Error(err)
		}
	}
}

// checkEnded checks everything after the last process.
func (r *resumed) checkEnded() {
	r.t.Helper()
	r.checkProcesses()
	r.checkRepositories()
	r.checkLeftovers()
	r.checkEvents("r")
	r.checkPlain()
	r.checkResumedReport()
	r.checkCost()
}

// checkPlain checks the repository whose files a job changes without a commit: the job's file is complete, and
// nothing else changed.
func (r *resumed) checkPlain() {
	r.t.Helper()
	for want, args := range map[string][]string{
		" M own.txt\nA  staged.txt\n?? work-j9.txt": {"status", "--porcelain", "-uall"},
		"main": {"symbolic-ref", "--short", "HEAD"},
		"1":    {"rev-list", "--count", "HEAD"},
	} {
		if got := strings.TrimSpace(r.git(append([]string{"-C", "../plain"}, args...)...)); got != strings.TrimSpace(want) {
			r.t.Errorf("plain: git %s is %q, want %q", strings.Join(args, " "), got, want)
		}
	}
	for name, want := range map[string]string{"own.txt": "2\n", "staged.txt": "3\n", "work-j9.txt": "begun\ndone\n"} {
		if got, err := os.ReadFile(filepath.Join(r.dir, "plain", name)); err != nil || string(got) != want {
			r.t.Errorf("plain: %s is %q, want %q (%v)", name, got, want, err)
		}
	}
	r.git("-C", "../plain", "fsck", "--strict", "--no-dangling")
	if got := strings.Split(r.git("-C", "../plain", "worktree", "list"), "\n"); len(got) != 1 {
		r.t.Errorf("plain: worktrees %q", got)
	}
	for _, pattern := range []string{"plain/.git", "shop/.git", "*/snapshots"} { // of the report directory
		for _, at := range []string{"objects/tmp_*", "objects/pack/tmp_*"} {
			if found, err := filepath.Glob(filepath.Join(r.dir, pattern, at)); err != nil || len(found) > 0 {
				r.t.Errorf("left: %q, %v", found, err)
			}
		}
	}
}

// checkResumedReport checks that the report has every job once, with its one commit on the
// branch and on the remote, and is what its events result in.
func (r *resumed) checkResumedReport() {
	r.t.Helper()
	var doc struct {
		Run struct{ ID string }
	}
	written, err := os.ReadFile(filepath.Join(r.dir, "r/report.json"))
	if err == nil {
		err = json.Unmarshal(written, &doc)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), "millhand", "report", "json", "r")
	cmd.Dir = r.dir
	if made, err := cmd.Output(); err != nil || !bytes.Equal(made, written) {
		r.t.Errorf("report.json differs from `millhand report json` (%v)", err)
	}
	var ids []string
	for _, j := range r.report("r").Jobs {
		ids = append(ids, j.ID)
		if j.Outcome != "passed" {
			r.t.Errorf("job %s: %s: %s", j.ID, j.Outcome, j.Reason)
		}
		if strings.HasSuffix(j.ID, "j9") {
			continue
		}
		if j.Commit == nil || j.Published == nil || j.Commit.Hash != j.Published.Hash {
			r.t.Errorf("job %s: commit %v, published %v", j.ID, j.Commit, j.Published)
			continue
		}
		for _, gitDir := range []string{".git", "../origin.git"} {
			got := r.git("--git-dir", gitDir, "log", "--format=%H %(trailers:key=Millhand-Run,valueonly,separator=)", "main.."+j.Commit.Branch)
			if want := j.Commit.Hash + " " + doc.Run.ID; got != want {
				r.t.Errorf("job %s: commits in %s are %q, want %q", j.ID, gitDir, got, want)
			}
		}
	}
	slices.Sort(ids)
	if want := jobs + 1; len(ids) != want || len(slices.Compact(ids)) != want {
		r.t.Errorf("jobs of the report are %q", ids)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, "r/.[a-z]*.*")); len(left) > 1 {
		r.t.Errorf("temporary files in the report directory: %q", left)
	}
}

// checkCost compares the turns in the events with the requests of the server. Each response
// is counted once, and each turn ends once; only requests in flight at a kill may be missing
// or estimated.
func (r *resumed) checkCost() {
	r.t.Helper()
	type turn struct {
		Number  int
		CostUSD float64 `json:"cost_usd"`
		Lost    json.RawMessage
	}
	counted, lost := map[string]int{}, 0
	started, done := map[string]int{}, map[string]int{}
	var sum float64
	data, err := os.ReadFile(filepath.Join(r.dir, "r/events.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var e struct {
			Type, Job, Session string
			Turn               *turn
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
		if len(e.Turn.Lost) > 0 {
			lost++
		} else {
			counted[e.Job]++
		}
	}
	for key, n := range done {
		if n != 1 || started[key] != 1 {
			r.t.Errorf("%s started %d times and ended %d times", key, started[key], n)
		}
	}
	for key := range started {
		if done[key] == 0 {
			r.t.Errorf("%s did not end", key)
		}
	}
	if lost > r.kills*parallel {
		r.t.Errorf("%d responses were lost in %d kills", lost, r.kills)
	}
	perJob, price, dearest := map[string]int{}, 0.0, 0.0
	for _, s := range r.served {
		perJob[s.job]++
		price, dearest = price+s.cost, max(dearest, s.cost)
	}
	responses := 0
	for job, n := range counted {
		responses += n
		if base := job[strings.LastIndex(job, "j"):]; n > perJob[base] {
			r.t.Errorf("job %s: %d responses are counted, and the server sent %d", job, n, perJob[base])
		}
	}
	cost := r.report("r").Run.Totals.CostUSD
	if cost == nil {
		r.t.Fatal("the cost is unknown")
	}
	unseen := float64(len(r.served) - responses)
	if *cost < price-unseen*dearest-1e-9 || *cost > 2 || *cost < sum-1e-9 || *cost > sum+1e-9 {
		r.t.Errorf("the cost is $%g, of the turns in the events $%g, and the server sent $%g with %g lost responses", *cost, sum, price, unseen)
	}
}
