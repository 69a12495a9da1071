package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/sandbox"
)

// bomber is an ordinary user without other processes.
const bomber = 47_114

// A fork bomb of an agent, at level B and as an ordinary user, is limited, ends with its call, and leaves no process. The job goes
// on, or ends for the machine: it neither hangs nor passes without its work.
func TestForkBombOfAnOrdinaryUser(t *testing.T) {
	if !nightly.On() {
		t.Skip("runs at night")
	}
	if os.Geteuid() != 0 || sandbox.Probe(t.Context(), t.TempDir()).Best == sandbox.None {
		t.Skip("requires root, to be somebody else, and a sandbox")
	}
	base, err := os.MkdirTemp("/var/tmp", "bomb-") //nolint:usetesting // its parents are open to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"manifest.yaml": "version: 1\nmodel: script:turns.yaml\nprofile: open\nprofiles: {open: {extends: build, permission: {bash: allow}}}\nlimits: {processes: 100, time: 2m}\n" +
			"repos: [{path: shop}]\ntasks: [{id: bomb, prompt: Try.}]\n",
		"turns.yaml":   "version: 1\nturns:\n  - calls: [{tool: bash, args: {command: \"bash bomb.sh\", timeout: 5000}}]\n  - calls: [{tool: write, args: {filePath: done.txt, content: done}}]\n  - text: Done.\n",
		"shop/bomb.sh": "bomb() { bomb | bomb & }\nbomb 2>/dev/null\nsleep 60\n", "tmp/x": "", "bin/millhand": string(program),
	} {
		file := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("millhand", filepath.Join(base, "bin/without-namespaces")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"git", "-C", "shop", "init", "-q", "-b", "main"},
		{"git", "-C", "shop", "add", "."},
		{"git", "-C", "shop", "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"},
		{"chown", "-R", strconv.Itoa(bomber), base},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = base
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(base, "bin/without-namespaces"), filepath.Join(base, "bin/millhand"), "run", "manifest.yaml", "--report-dir", "r")
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = base, &out, &out, 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bomber, Gid: bomber}}
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + base, "TMPDIR=" + filepath.Join(base, "tmp"),
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	most := make(chan int)
	ended := make(chan struct{})
	go func() {
		n := 0
		for {
			select {
			case <-ended:
				most <- n
				return
			case <-time.After(20 * time.Millisecond):
				n = max(n, len(processesOf(bomber)))
			}
		}
	}()
	err = cmd.Run()
	close(ended)
	t.Logf("%v\n%s", err, &out)
	if n := <-most; n < 20 || n > 160 { // some of the program's own
		t.Errorf("at most %d processes existed", n)
	}
	for deadline := time.Now().Add(5 * time.Minute); len(processesOf(bomber)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", processesOf(bomber))
		}
	}
	var doc struct {
		Jobs []struct {
			Outcome, Reason string
			Sandbox         struct{ Level string }
			Changes         []struct{ Path string }
		}
	}
	text, err := os.ReadFile(filepath.Join(base, "r/report.json"))
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Jobs) != 1 {
		t.Fatalf("the report: %v", err)
	}
	j := doc.Jobs[0]
	if passed := j.Outcome == "passed" && len(j.Changes) == 1; j.Sandbox.Level != "B" || !passed && j.Outcome != "error" {
		t.Errorf("%+v", j)
	}
}

// processesOf returns the processes of a user.
func processesOf(user uint32) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, at := range all {
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == user {
			if status, err := os.ReadFile(at + "/status"); err == nil && !strings.Contains(string(status), "State:\tZ") {
				pids = append(pids, filepath.Base(at))
			}
		}
	}
	return pids
}
