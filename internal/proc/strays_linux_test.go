package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// started starts a line in bash, as the leader of a process group, and returns what it
// prints. TMPDIR is the mark of commands.
func started(t *testing.T, tmp, line string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(text)
}

func running(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestKillStraysKillsProcessesOfItsRunOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "millhand-01234567")
	// A daemon, one without the environment in its group, and one without both whose
	// parent is marked. In the end, they are orphans or zombies of bash.
	cmd, pids := started(t, filepath.Join(dir, "tmp", "job"), "setsid sleep 1000 & a=$!; env -i sleep 1000 & b=$!; setsid env -i sleep 1000 & echo $a $b $!; wait")
	other, _ := started(t, dir+"-other/tmp/job", "echo ready; exec sleep 1000")
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	killed, err := KillStrays(dir)
	if err != nil || killed != 4 {
		t.Errorf("killed %d, %v", killed, err)
	}
	_ = cmd.Wait() // it was killed
	for text := range strings.FieldsSeq(pids) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := readStray("/proc/"+text, dir); ok && running(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
	if _, ok := readStray("/proc/"+strconv.Itoa(other.Process.Pid), dir); !ok {
		t.Error("the process of another run was killed")
	}
}

// TestKillStraysExcludesItselfAndItsAncestors runs itself as a command of the killed run.
func TestKillStraysExcludesItselfAndItsAncestors(t *testing.T) {
	if dir := os.Getenv("STRAYS_OF"); dir != "" {
		killed, err := KillStrays(dir)
		t.Logf("killed %d, %v", killed, err)
		return
	}
	dir := filepath.Join(t.TempDir(), "millhand-01234567")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `sleep 1000 & "$@"; exit`, "bash", os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), "STRAYS_OF="+dir, "TMPDIR="+dir+"/tmp/job")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "killed 1, <nil>") {
		t.Errorf("%v\n%s", err, out)
	}
}
