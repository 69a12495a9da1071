//go:build linux

package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An unprivileged parent must still work after Harden.
func TestHardenedProcessStillConfines(t *testing.T) {
	if os.Getenv("MILLHAND_TEST_HARDENED") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestHardenedProcessStillConfines$")
		cmd.Env = append(os.Environ(), "MILLHAND_TEST_HARDENED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := Harden(); err != nil {
		t.Fatal(err)
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, newFixture(t).spec(), level)
			if got := bash(t, s, "echo x >f && cat f"); got.err != nil || got.output != "x\n" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Sweep finds the descendants of a killed supervisor among the orphans.
func TestSweepKillsOrphansOfKilledSupervisor(t *testing.T) {
	if os.Getenv("MILLHAND_TEST_SWEEP") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestSweepKillsOrphansOfKilledSupervisor$")
		cmd.Env = append(os.Environ(), "MILLHAND_TEST_SWEEP=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	p := newFixture(t)
	s := inside(t, p.spec(), Partial)
	marker := "MILLHAND_MARK=" + p.dir
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { innocent.Process.Kill(); innocent.Wait() }()
	// The shell itself creates the file: on a slow machine another program would still exist as a fourth stray.
	cmd, l := start(t, s, io.Discard, []string{marker}, p.workspace, "bash", "-c", `setsid sleep 1000 & setsid sleep 1000 & >ready; wait`)
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(p.workspace, "ready")); return err == nil })
	if n, err := Sweep(); n != 0 || err != nil {
		t.Fatalf("while all is well: swept %d, %v", n, err)
	}
	cmd.Kill()
	cmd.Wait()
	if _, err := l.Ended(); err == nil {
		t.Error("the supervisor was killed, and nobody noticed")
	}
	n, err := Sweep()
	if n != 3 || err != nil {
		t.Errorf("swept %d, %v; want 3", n, err)
	}
	if left := marked(t, marker); len(left) != 0 {
		t.Errorf("alive: %v", left)
	}
	if err := innocent.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("a process that isn't a stray: %v", err)
	}
}
