package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// migration is a task that replaces io/ioutil.
const migration = `  - id: j0
    prompt: Do work j0 in ${{ repo.name }}.
    verify:
      - {name: gone, run: "! grep -rqE --include=*.go --exclude-dir=testdata --exclude-dir=vendor '\"io/ioutil\"( //.*)?$' ."}
      - {name: parses, run: "git diff -z --name-only HEAD -- '*.go' | xargs -0 -r gofmt -l >/dev/null"}
    commit: {branch: millhand/ioutil}
    publish: {mode: pr}
`

// TestQueueOfModules replaces io/ioutil in real modules: by the pool, and by three workers of a
// queue, which are killed at random moments, and so is the server. The results are equal. For every
// change, TestQueueKilled kills workers and the server, and TestQueueReportsEqual compares
// undisturbed runs, with small repositories.
func TestQueueOfModules(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: MILLHAND_NIGHTLY=1")
	}
	m := newNetwork(t)
	modules, err := scripts.SmallModules(20)
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile("../e2e/fleet/testdata/migrate.py")
	if err != nil {
		t.Fatal(err)
	}
	m.tasks = 1
	for _, module := range modules {
		m.published(module)
	}
	random, kill := nightly.Random(t), 0
	moments := make(chan struct{}, 1000)
	m.asked = func(_ string, n int) *script.Turn {
		m.mu.Lock()
		defer m.mu.Unlock()
		if kill--; kill == 0 {
			kill = 2 + random.IntN(4)
			moments <- struct{}{}
		}
		return migrate(string(program), n)
	}

	m.fresh(modules)
	m.manifest(migration)
	out, err := m.command(0, nil, "millhand", "run", "../run.yaml", "--report-dir", "../pool").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pool := m.outcome("pool")

	m.fresh(modules)
	m.mu.Lock()
	kill = 3
	m.mu.Unlock()
	began := time.Now()
	id := m.submit("--lease", "6s", "--max-deliveries", "50")
	for machine := range 3 {
		m.start(machine, nil)
	}
	workers, servers := m.killedUntil(m.reports(id), moments, random)
	again := 0
	for _, r := range m.results(id) {
		if r.Delivery > 1 {
			again++
		}
	}
	t.Logf("%d repositories, %d kills of workers and %d of the server, %d jobs delivered again, %s", len(modules), workers, servers, again, time.Since(began).Round(time.Second))
	if workers < 2 || servers < 2 || again < 1 {
		t.Error("too few kills")
	}
	m.leave()
	m.queuedReport()
	m.undisturbed("r", "undisturbed")
	for name, got := range m.outcome("undisturbed") {
		if diff := cmp.Diff(pool[name], got); diff != "" {
			t.Errorf("%s of pool and queue differ:\n%s", name, diff)
		}
	}
}

// migrate returns the turns of an agent that runs a program.
func migrate(program string, n int) *script.Turn {
	command := "grep -rl --include=*.go io/ioutil . | sort" // the order of the grep tool is that of a checkout
	switch n {
	case 0:
	case 1:
		command = "cat >\"$TMPDIR/work.py\" <<'END'\n" + program + "END\npython3 \"$TMPDIR/work.py\""
	default:
		return nil
	}
	input, _ := json.Marshal(map[string]string{"command": command, "description": "work"}) //nolint:errchkjson // strings can be encoded
	return &script.Turn{Calls: []model.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: "bash", Input: string(input)}}, Finish: model.FinishTools}
}

// killedUntil kills a worker at each moment and replaces it, or the server, until the run has
// ended. It returns how many were killed.
func (m *machines) killedUntil(ended <-chan int, moments <-chan struct{}, random *rand.Rand) (workers, servers int) {
	m.t.Helper()
	for {
		select {
		case <-moments:
			if workers == 2*servers+1 {
				servers++
				m.restartServer()
				continue
			}
			workers++
			machine := random.IntN(len(m.workers))
			m.end(m.workers[machine], syscall.SIGKILL)
			m.start(machine, nil)
		case code := <-ended:
			if code != 0 {
				m.t.Errorf("exit code %d of queue report", code)
			}
			return workers, servers
		case <-time.After(10 * time.Minute):
			m.t.Fatal("the run does not end")
		}
	}
}

// published makes a repository of the files of a module.
func (m *machines) published(module scripts.Module) {
	m.t.Helper()
	dir := filepath.Join(m.dir, "published", module.Name)
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		m.t.Fatal(err)
	}
	m.git("init", "-q", "-b", "main", dir)
	m.git("-C", dir, "add", "-A", "-f")
	m.git("-C", dir, "commit", "-q", "-m", "Published")
}

// fresh makes a forge with the repositories of modules.
func (m *machines) fresh(modules []scripts.Module) {
	m.t.Helper()
	acme := filepath.Join(m.dir, "acme")
	if err := os.RemoveAll(acme); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Mkdir(acme, 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.newForge()
	for _, module := range modules {
		m.add(filepath.Join(m.dir, "published", module.Name, ".git"), module.Name)
	}
}
