package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// serveQueue is main of the server of a queue, as a process that tests kill: nats-server STORE PORT.
func serveQueue() {
	port, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = queuetest.Run(os.Args[1], port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// queueManifest is the manifest of a queued run without its repositories and tasks. The verbs are
// the address of the model's server, and the host and port of the forge.
const queueManifest = `version: 1
model: responses/m
profile: build
providers: {responses: {kind: responses, base_url: %s/v1}}
prices: {responses/m: {input: 1, output: 1}}
forges: {"%s": {kind: gitea, token_env: FORGE_TOKEN}}
`

// queueTask is a task of a queued run, whose verb is its number.
const queueTask = `  - id: j%[1]d
    prompt: Do work j%[1]d in ${{ repo.name }}.
    verify: [{run: grep -q done work-j%[1]d.txt}]
    commit: {branch: millhand/j%[1]d}
    publish: {mode: pr}
`

// machines is a queued run, with its server and the machines of its workers: each has a home and
// a directory for temporary files.
type machines struct {
	*world
	repos    []string // names
	tasks    int      // for each repository
	forge    *forgetest.Server
	model    *wiretest.Server
	forgeURL string
	modelURL string
	url      string // of the queue
	server   *process
	workers  map[int]*process // by number of the machine

	mu     sync.Mutex
	asked  func(job string, n int) *script.Turn // called with the name of each request; may be nil, and so may its result
	served int
	spent  map[string]time.Duration // of CPU, by the log of processes that have ended, and by submit
}

// process is a process that runs in the background.
type process struct {
	*exec.Cmd
	log  string // file with what it printed
	done chan struct{}
	err  error
}

// newMachines makes repositories and starts a model, a forge and, as a process, a queue. task is
// the text of a task whose verb is its number.
func newMachines(t *testing.T, repos, tasks int, task string) *machines {
	t.Helper()
	m := newNetwork(t)
	m.write("shop/README", "A shop.\n")
	m.git("init", "-q", "-b", "main")
	m.git("add", "-A")
	m.git("commit", "-q", "-m", "start")
	for i := range repos {
		m.add(filepath.Join(m.dir, "shop/.git"), fmt.Sprintf("r%d", i))
	}
	var texts strings.Builder
	for i := range tasks {
		fmt.Fprintf(&texts, task, i)
	}
	m.tasks = tasks
	m.manifest(texts.String())
	return m
}

// newNetwork starts a model, a forge without repositories and, as a process, a queue.
func newNetwork(t *testing.T) *machines {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	m := &machines{world: &world{t: t, dir: t.TempDir()}, workers: map[int]*process{}, spent: map[string]time.Duration{}}
	for _, sub := range []string{"home", "shop", "acme", "store"} {
		if err := os.Mkdir(filepath.Join(m.dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.write("home/.gitconfig", "[user]\n\tname = Tess Tester\n\temail = tess@example.com\n[safe]\n\tdirectory = *\n")
	m.model = wiretest.New(nil)
	m.model.Play = m.play
	m.model.Obey = true
	m.newForge()
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.forge.ServeHTTP(w, r) }))
	provider := httptest.NewServer(m.model)
	for _, s := range []*httptest.Server{forge, provider} {
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	}
	m.forgeURL, m.modelURL = forge.URL, provider.URL
	m.startServer(0)
	t.Cleanup(m.stop)
	return m
}

// newForge makes a forge without repositories.
func (m *machines) newForge() {
	m.forge = &forgetest.Server{Kind: "gitea", Token: forgeToken, User: "mill", Resolve: m.resolve, Other: m.serveGit()}
	m.repos = nil
}

// add adds a copy of a git directory to the forge.
func (m *machines) add(dir, name string) {
	m.t.Helper()
	bare := filepath.Join(m.dir, "acme", name+".git")
	if out, err := exec.CommandContext(m.t.Context(), "cp", "-a", dir, bare).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	m.git("--git-dir", bare, "config", "core.bare", "true")
	m.git("--git-dir", bare, "config", "http.receivepack", "true")
	m.forge.Add(forgetest.Repo{Owner: "acme", Name: name})
	m.repos = append(m.repos, name)
}

// manifest writes a manifest with tasks for all repositories.
func (m *machines) manifest(tasks string) {
	m.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, queueManifest, m.modelURL, strings.TrimPrefix(m.forgeURL, "http://"))
	text.WriteString("repos:\n")
	for _, name := range m.repos {
		fmt.Fprintf(&text, "  - {url: %q}\n", fmt.Sprintf("%s/acme/%s.git", m.forgeURL, name))
	}
	m.write("run.yaml", text.String()+"tasks:\n"+tasks)
}

func (m *machines) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machines) bare(i int) string { return filepath.Join(m.dir, "acme", m.repos[i]+".git") }

// resolve returns the commit of a branch of a repository.
func (m *machines) resolve(repo, branch string) string {
	out, err := exec.Command("git", "-C", filepath.Join(m.dir, repo+".git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// serveGit serves the repositories by HTTP to those who know the token.
func (m *machines) serveGit() http.Handler {
	backend := m.world.serveGit()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); token != forgeToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
}

var queuePrompt = regexp.MustCompile(`Do work (j\d+) in (\S+)\.`)

// play is the model of all sessions: it writes a file, completes it by a command, and is done.
func (m *machines) play(req wiretest.Request) *script.Turn {
	var found []string
	for _, message := range req.Messages {
		if found = queuePrompt.FindStringSubmatch(message.Content); found != nil {
			break
		}
	}
	if found == nil {
		m.t.Error("a request without a prompt")
		return &script.Turn{Text: "?", Finish: model.FinishStop}
	}
	n, file := req.Responses(), "work-"+found[1]+".txt"
	m.mu.Lock()
	m.served++
	asked := m.asked
	m.mu.Unlock()
	if asked != nil {
		if turn := asked(found[1]+" in "+found[2], n); turn != nil {
			return turn
		}
	}
	turn := &script.Turn{Text: "The work is complete.", Finish: model.FinishStop}
	call := func(tool string, args map[string]string) {
		input, _ := json.Marshal(args) //nolint:errchkjson // strings can be encoded
		turn.Calls, turn.Finish = []model.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: tool, Input: string(input)}}, model.FinishTools
	}
	switch n {
	case 0:
		call("write", map[string]string{"filePath": file, "content": "begun\n"})
	case 1:
		call("bash", map[string]string{"command": "sleep 60 >/dev/null 2>&1 & echo done >>" + file, "description": "complete the file"})
	}
	return turn
}

// command prepares a command on a machine.
func (m *machines) command(machine int, variables []string, name string, args ...string) *exec.Cmd {
	m.t.Helper()
	home := filepath.Join(m.dir, fmt.Sprintf("m%d", machine))
	if err := os.MkdirAll(filepath.Join(home, "tmp"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.write(fmt.Sprintf("m%d/.gitconfig", machine), "[user]\n\tname = Tess Tester\n\temail = tess@example.com\n")
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.WaitDelay = home, 10*time.Second
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "LC_ALL=C", "FORGE_TOKEN=" + forgeToken,
		"NATS_URL=" + m.url,
	}, variables...)
	return cmd
}

// background starts a command whose output is added to a file.
func (m *machines) background(log string, cmd *exec.Cmd) *process {
	m.t.Helper()
	p := &process{Cmd: cmd, log: filepath.Join(m.dir, log), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	fmt.Fprintf(out, "$ %s\n", strings.Join(cmd.Args, " "))
	cmd.Stderr = out
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		m.spend(log, cmd)
		out.Close()
		close(p.done)
	}()
	return p
}

// spend adds up the CPU time of a command that has ended.
func (m *machines) spend(name string, cmd *exec.Cmd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := cmd.ProcessState; s != nil {
		m.spent[name] += s.UserTime() + s.SystemTime()
	}
}

// end sends a signal to a process and waits for its end.
func (m *machines) end(p *process, signal syscall.Signal) int {
	m.t.Helper()
	_ = p.Process.Signal(signal) // it may have ended
	<-p.done
	return exitCode(m.t, p.err)
}

// startServer starts the queue on a port; 0 for a free one.
func (m *machines) startServer(port int) {
	m.t.Helper()
	if port == 0 {
		port = -1
	}
	in, out, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer in.Close()
	cmd := m.command(99, nil, "nats-server", filepath.Join(m.dir, "store"), strconv.Itoa(port))
	cmd.Stdout = out
	m.server = m.background("server.log", cmd)
	out.Close()
	line := make([]byte, 200)
	n, err := in.Read(line)
	if err != nil {
		m.t.Fatalf("the server of the queue does not start: %v", err)
	}
	m.url = strings.TrimSpace(string(line[:n]))
}

// restartServer kills the server of the queue and starts it again.
func (m *machines) restartServer() {
	m.t.Helper()
	m.end(m.server, syscall.SIGKILL)
	port, err := strconv.Atoi(m.url[strings.LastIndex(m.url, ":")+1:])
	if err != nil {
		m.t.Fatal(err)
	}
	m.startServer(port)
}

// start starts a worker on a machine.
func (m *machines) start(machine int, variables []string, flags ...string) *process {
	m.t.Helper()
	p := m.background(fmt.Sprintf("worker%d.log", machine), m.command(machine, variables, "millhand", append([]string{"worker"}, flags...)...))
	m.workers[machine] = p
	return p
}

// stop ends all processes.
func (m *machines) stop() {
	for _, p := range m.workers {
		m.end(p, syscall.SIGKILL)
	}
	m.end(m.server, syscall.SIGKILL)
	if m.t.Failed() {
		logs, _ := filepath.Glob(filepath.Join(m.dir, "*.log"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			m.t.Logf("%s:\n%s", filepath.Base(log), text)
		}
	}
}

// leave ends the workers by SIGTERM, and checks that nothing of them is left.
func (m *machines) leave() {
	m.t.Helper()
	for machine, p := range m.workers {
		if code := m.end(p, syscall.SIGTERM); code != 128+15 {
			m.t.Errorf("worker %d: exit code %d after SIGTERM", machine, code)
		}
		delete(m.workers, machine)
	}
	m.end(m.server, syscall.SIGTERM)
	m.checkProcesses()
}

// until waits for something that processes do.
func (m *machines) until(what string, done func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("waited too long until %s", what)
		}
	}
}

// ended waits for a run and its reports, and checks the exit code.
func (m *machines) ended(id string, want int) {
	m.t.Helper()
	select {
	case code := <-m.reports(id):
		if code != want {
			m.t.Errorf("exit code %d of queue report, want %d", code, want)
		}
	case <-time.After(10 * time.Minute):
		m.t.Fatal("the run does not end")
	}
}

// results returns the results of a run, by the id of the job.
func (m *machines) results(id string) map[string]queue.Result {
	m.t.Helper()
	q, err := queue.Open(m.t.Context(), queue.Options{URL: m.url, Now: time.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	defer q.Close()
	r, err := q.Run(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}
	byKey, err := q.Results(m.t.Context(), r)
	if err != nil {
		m.t.Fatal(err)
	}
	all := map[string]queue.Result{}
	for _, r := range byKey {
		all[r.Job] = r
	}
	return all
}

// submit queues the run and returns its id.
func (m *machines) submit(flags ...string) string {
	m.t.Helper()
	cmd := m.command(98, nil, "millhand", append([]string{"queue", "submit", "../run.yaml", "--quiet"}, flags...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	m.spend("submit", cmd)
	if err != nil {
		m.t.Fatalf("queue submit: %v\n%s", err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

// reports waits for the end of a run, and writes its reports. The result is the exit code.
func (m *machines) reports(id string) <-chan int {
	m.t.Helper()
	p := m.background("report.log", m.command(98, nil, "millhand", "queue", "report", id, "--wait", "--report-dir", filepath.Join(m.dir, "r")))
	code := make(chan int, 1)
	go func() {
		<-p.done
		code <- p.ProcessState.ExitCode()
	}()
	m.t.Cleanup(func() { m.end(p, syscall.SIGKILL) })
	return code
}

// queuedReport holds the fields of a report that tests of queues read.
type queuedReport struct {
	Run struct {
		Outcome  string
		ExitCode int `json:"exit_code"`
		Totals   struct {
			CostUSD        *float64 `json:"cost_usd"`
			CostUSDAtLeast *float64 `json:"cost_usd_at_least"`
		}
	}
	Jobs []struct {
		ID, Task, Outcome, Reason string
		Code                      string `json:"reason_code"`
		Turns                     int
		CostUSD                   float64 `json:"cost_usd"`
		Commit                    *struct{ Hash, Branch string }
		Published                 *struct{ Branch, Hash, Replaced string }
		PullRequest               *event.PullRequest `json:"pull_request"`
		Comment                   *event.Comment
	}
}

// queuedReport reads the report of the run, which has every job once.
func (m *machines) queuedReport() (r queuedReport) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "r/report.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, j := range r.Jobs {
		seen[j.ID]++
	}
	if want := len(m.repos) * m.tasks; len(r.Jobs) != want || len(seen) != want {
		m.t.Errorf("jobs of the report, of %d: %v", want, seen)
	}
	return r
}

// checkPassed checks that all jobs passed, each with one commit on its branch and one pull request.
func (m *machines) checkPassed() {
	m.t.Helper()
	r := m.queuedReport()
	for _, j := range r.Jobs {
		if j.Outcome != "passed" || j.Commit == nil || j.Published == nil || j.Published.Replaced != "" || j.PullRequest == nil || !j.PullRequest.Created {
			m.t.Errorf("job %s: %s: %s; commit %v, published %v, pull request %v", j.ID, j.Outcome, j.Reason, j.Commit, j.Published, j.PullRequest)
		}
	}
	m.checkBranches(len(m.repos) * m.tasks)
}

// checkBranches checks that there are so many branches, each with one commit and one pull request.
func (m *machines) checkBranches(want int) {
	m.t.Helper()
	heads := map[string]int{}
	for _, p := range m.forge.Pulls() {
		heads[p.Repo+" "+p.Branch]++
	}
	branches := 0
	for i := range m.repos {
		for ref := range strings.FieldsSeq(m.git("--git-dir", m.bare(i), "for-each-ref", "--format=%(refname:short)", "refs/heads")) {
			task, own := strings.CutPrefix(ref, "millhand/")
			if !own {
				continue
			}
			branches++
			got := m.git("--git-dir", m.bare(i), "log", "--format=%(trailers:key=Millhand-Task,valueonly,separator=%x2C)", "--name-only", "main.."+ref)
			if lines := strings.Fields(got); len(lines) != 2 || lines[1] != "work-"+task+".txt" {
				m.t.Errorf("branch %s of r%d: trailer and files of its commits are %q", ref, i, got)
			}
			if got := m.git("--git-dir", m.bare(i), "show", ref+":work-"+task+".txt"); got != "begun\ndone" {
				m.t.Errorf("branch %s of r%d: the file is %q", ref, i, got)
			}
			if n := heads["acme/"+m.repos[i]+" "+ref]; n != 1 {
				m.t.Errorf("branch %s of r%d has %d pull requests", ref, i, n)
			}
		}
	}
	if branches != want || len(heads) != want {
		m.t.Errorf("%d branches, and pull requests %v, want %d", branches, slices.Sorted(maps.Keys(heads)), want)
	}
}

// contains reports whether a file contains a text.
func (m *machines) contains(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text))
}
