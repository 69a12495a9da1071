package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/text/figures"
)

// The maximum resident memory of processes for a run of 10,000 jobs, in bytes. Some 55 MB of it are
// pages of the program's file. docs/figures.md has what was measured.
const (
	maxMemory       = 150_000_000 // that run jobs, or read their reports
	maxResumeMemory = 220_000_000 // that resume the run: the facts of its jobs are in memory beside their events
)

// freshProcess marks the process that measures. The system counts the memory of a process for those that it starts, until
// they are another program: that of this one, after other tests.
const freshProcess = "MILLHAND_TEST_FRESH_PROCESS"

// TestMemoryOfManyJobs interrupts a run of 10,000 jobs with a change each, resumes it, and reads its reports.
func TestMemoryOfManyJobs(t *testing.T) {
	if !nightly.On() {
		t.Skip("runs at night")
	}
	if os.Getenv(freshProcess) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
		cmd.Env = append(os.Environ(), freshProcess+"=1")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return
	}
	const jobs = 10_000
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "LC_ALL=C"}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	var numbers strings.Builder
	for i := range jobs {
		fmt.Fprintf(&numbers, "%d, ", i)
	}
	for name, text := range map[string]string{
		".gitconfig": "[user]\n\tname = Tess Tester\n\temail = tess@example.com\n",
		"model.yaml": "version: 1\nturns:\n  - calls: [{tool: write, args: {filePath: b.txt, content: b}}]\n  - text: Done.\n",
		"run.yaml":   "version: 1\nrepos: [{path: repo}]\nprofile: build\nmodel: script:model.yaml\njobs: 4\ntasks: [{id: j, prompt: Write b.txt., matrix: {n: [" + numbers.String() + "]}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "repo"}, {"-C", "repo", "commit", "-q", "--allow-empty", "-m", "start"}} {
		if out, err := command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	measured := func(cmd *exec.Cmd, most int64, want int) {
		t.Helper()
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		if want == 130 {
			go interruptAfter(cmd.Process, ended, filepath.Join(dir, "r/events.jsonl"), jobs*3/4)
		}
		err := cmd.Wait()
		close(ended)
		if code := exitCode(t, err); code != want {
			t.Errorf("%v: exit code %d, want %d: %.2000s", cmd.Args, code, want, out.Bytes())
		}
		used := int64(0)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			used = usage.Maxrss << 10
		}
		t.Logf("%v: at most %s, CPU time %s", cmd.Args, figures.Bytes(used), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if used > most {
			t.Errorf("%v: %s of memory", cmd.Args, figures.Bytes(used))
		}
	}
	measured(command("millhand", "run", "run.yaml", "--quiet", "--report-dir", "r"), maxMemory, 130)
	measured(command("millhand", "run", "--resume", "r", "--quiet"), maxResumeMemory, 0)
	for _, args := range [][]string{{"list"}, {"show", "r"}, {"json", "r"}, {"html", "r"}, {"markdown", "r"}, {"patterns", "r"}} {
		measured(command("millhand", append([]string{"report"}, args...)...), maxMemory, 0)
	}
}

// interruptAfter interrupts a run when a number of its jobs have ended. It reads what is new of the events each time, because
// the memory of this process counts for those that it starts.
func interruptAfter(run *os.Process, ended chan struct{}, events string, jobs int) {
	var in *bufio.Reader
	for n := 0; n < jobs; {
		select {
		case <-ended:
			return
		case <-time.After(time.Second):
		}
		if in == nil {
			file, err := os.Open(events)
			if err != nil {
				continue // missing at first
			}
			defer file.Close()
			in = bufio.NewReader(file)
		}
		for line, err := "", error(nil); err == nil; {
			if line, err = in.ReadString('\n'); strings.Contains(line, `"type":"job.ended"`) {
				n++
			}
		}
	}
	_ = run.Signal(syscall.SIGINT) // it may have ended
}
