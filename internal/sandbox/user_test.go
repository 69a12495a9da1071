package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Everything holds for an ordinary user, too: the same tests run again as one.
func TestAllAgainAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("only root can be somebody else, and it takes its time")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	p := newPlace(t)
	program := filepath.Join(p.dir, "sandbox.test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.outside, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", program, "-test.timeout=5m")
	cmd.Dir = p.outside
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + p.outside, "HOME=" + p.outside}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyProgram(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	return f.Close()
}

// What Harden does, an unprivileged parent must not suffer from.
func TestAProcessThatIsHardenedStillConfines(t *testing.T) {
	if os.Getenv("MILLHAND_TEST_HARDENED") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAProcessThatIsHardenedStillConfines$")
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
			s := inside(t, newPlace(t).spec(), level)
			if got := bash(t, s, "echo x >f && cat f"); got.err != nil || got.output != "x\n" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Strays of a supervisor that was killed are found among the orphans.
func TestSweepKillsWhatAKilledSupervisorLeft(t *testing.T) {
	if os.Getenv("MILLHAND_TEST_SWEEP") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestSweepKillsWhatAKilledSupervisorLeft$")
		cmd.Env = append(os.Environ(), "MILLHAND_TEST_SWEEP=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := Harden(); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	s := inside(t, p.spec(), Partial)
	marker := "MILLHAND_MARK=" + p.dir
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { innocent.Process.Kill(); innocent.Wait() }()
	l, err := s.Launch([]string{"bash", "-c", `setsid sleep 1000 & setsid sleep 1000 & echo x >p; mv p ready; wait`}, []string{"PATH=/usr/bin:/bin", marker}, p.workspace)
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, SysProcAttr: l.Attr, ExtraFiles: l.Files}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Started(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(p.workspace, "ready")); return err == nil })
	if n, err := Sweep(); n != 0 || err != nil {
		t.Fatalf("while all is well: swept %d, %v", n, err)
	}
	cmd.Process.Kill()
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
