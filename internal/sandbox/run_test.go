//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// searchPath is the PATH of commands in tests.
const searchPath = "PATH=/usr/local/go/bin:/usr/bin:/bin:/usr/sbin"

// outcome is the result of a line of bash.
type outcome struct {
	ending ExitStatus
	output string
	err    error
}

// command is a command that was started in a sandbox.
type command struct {
	*os.Process
	copied chan struct{} // closed after the end of its output
}

// start starts a command in a sandbox, like package proc.
func start(t *testing.T, s *Sandbox, out io.Writer, env []string, dir string, args ...string) (*command, *Launch) {
	t.Helper()
	l, err := s.Launch(args, append([]string{searchPath}, env...), dir)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p, err := l.Start([3]*os.File{null, w, w})
	if err != nil {
		t.Fatal(err)
	}
	cmd := &command{p, make(chan struct{})}
	go func() {
		defer close(cmd.copied)
		defer r.Close()
		io.Copy(out, r)
	}()
	return cmd, l
}

// finish waits for a command.
func finish(t *testing.T, cmd *command, l *Launch) (ExitStatus, error) {
	t.Helper()
	if _, err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	<-cmd.copied
	return l.Ended()
}

// bash runs a line of bash in a sandbox, in its workspace.
func bash(t *testing.T, s *Sandbox, line string, env ...string) outcome {
	t.Helper()
	var out bytes.Buffer
	cmd, l := start(t, s, &out, env, s.bounds.Workspace, "bash", "-c", line)
	ending, err := finish(t, cmd, l)
	return outcome{ending, out.String(), err}
}

// fixture is the environment of a job: a directory with a workspace, the
// private directories, and files outside.
type fixture struct {
	dir, workspace, home, tmp, outside string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := fixture{dir: dir, workspace: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), tmp: filepath.Join(dir, "tmp"), outside: filepath.Join(dir, "outside")}
	for _, d := range []string{p.workspace, p.home, p.tmp, p.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p fixture) spec() Spec {
	return Spec{Workspace: p.workspace, Home: p.home, TmpDir: p.tmp, Private: &Private{roots: []string{"/etc"}}}
}

// inside creates a sandbox, or skips the test if the machine does not support it.
func inside(t *testing.T, spec Spec, level Level) *Sandbox {
	t.Helper()
	s, err := New(spec, level)
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// confining returns the levels that confine.
func confining() []Level { return []Level{Full, Partial} }

// sampled returns the levels at which to try the i-th of many commands: both at night, or if their results
// differ, otherwise one of them, alternately.
func sampled(i int, differ bool) []Level {
	if differ || nightly.On() {
		return confining()
	}
	return confining()[i%2:][:1]
}

// unguarded runs a line of bash without a sandbox.
func unguarded(t *testing.T, dir, line string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = append([]string{searchPath}, env...)
	out, _ := cmd.CombinedOutput() // failing is an answer, too
	return string(out)
}

func TestTheEndOfACommandIsReported(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, newFixture(t).spec(), level)
			for line, want := range map[string]ExitStatus{
				"true":            {},
				"exit 7":          {ExitCode: 7},
				"kill -KILL $$":   {ExitCode: -1, Signal: 9},
				"kill -TERM $$":   {ExitCode: -1, Signal: 15},
				"(exit 200) || :": {},
			} {
				if got := bash(t, s, line); got.err != nil || got.ending != want {
					t.Errorf("%s: got %+v, %v; want %+v", line, got.ending, got.err, want)
				}
			}
		})
	}
}

func TestMissingCommandIsRefused(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			s := inside(t, p.spec(), level)
			var out bytes.Buffer
			for _, args := range [][]string{{"no-such-program"}, {"/no/such/program"}, {p.workspace}} {
				cmd, l := start(t, s, &out, nil, p.workspace, args...)
				if _, err := finish(t, cmd, l); !errors.Is(err, ErrRefused) {
					t.Errorf("%v: got %v", args, err)
				}
			}
		})
	}
}

// A fault of the sandbox is distinguished from that of a command.
func TestOnlyFaultsOfTheSandboxAreUnconfined(t *testing.T) {
	for _, level := range confining() {
		p := newFixture(t)
		spec := p.spec()
		granted := filepath.Join(p.outside, "granted")
		if err := os.Mkdir(granted, 0o755); err != nil {
			t.Fatal(err)
		}
		spec.Grants = []Grant{NewGrant(granted, true)}
		s := inside(t, spec, level)
		for _, c := range []struct {
			program, dir string
		}{{"no-such-program", p.workspace}, {p.workspace, p.workspace}, {"true", p.workspace + "/missing"}} {
			cmd, l := start(t, s, os.Stderr, nil, c.dir, c.program)
			if _, err := finish(t, cmd, l); !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnconfined) {
				t.Errorf("%s, %v: %v", level, c, err)
			}
		}
		if err := s.Try(t.Context()); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		if err := errors.Join(os.Remove(granted), os.Symlink("/", granted)); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, s, "true"); !errors.Is(got.err, ErrUnconfined) || !errors.Is(got.err, ErrRefused) {
			t.Errorf("%s: %v", level, got.err)
		}
		if err := s.Try(t.Context()); !errors.Is(err, ErrUnconfined) {
			t.Errorf("%s: %v", level, err)
		}
	}
}

func TestKillEndsACommandThatIgnoresSignals(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, newFixture(t).spec(), level)
			cmd, l := startReady(t, s, "trap '' TERM INT HUP; echo ready; while :; do sleep 1; done")
			l.Kill()
			if got, err := finish(t, cmd, l); err != nil || got.Signal != 9 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestCommandCannotKillItsSupervisor(t *testing.T) {
	if LandlockVersion() < 6 {
		t.Skip("signals are not restricted before Linux 6.12, see SECURITY.md")
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, newFixture(t).spec(), level)
			got := bash(t, s, `for s in KILL STOP TERM QUIT HUP INT SEGV ABRT; do kill -$s $PPID; kill -$s -- -$(cut -d' ' -f5 </proc/$PPID/stat); done 2>/dev/null; exit 5`)
			if got.err != nil || got.ending != (ExitStatus{ExitCode: 5}) {
				t.Errorf("got %+v, %v", got.ending, got.err)
			}
		})
	}
}

// A SIGTERM to the supervisor's group, which package proc sends at the timeout,
// gives the command the grace period to exit.
func TestSIGTERMIsPassedOn(t *testing.T) {
	tests := []struct {
		name, line string
		want       ExitStatus
	}{
		{"to one that clears up", `trap 'echo x >cleared; exit 3' TERM; echo ready; while :; do sleep 0.01; done`, ExitStatus{ExitCode: 3}},
		{"to one that doesn't care", `echo ready; sleep 1000`, ExitStatus{ExitCode: -1, Signal: 15}},
		{"to one that ignores it", `trap '' TERM; echo ready; while :; do sleep 0.01; done`, ExitStatus{ExitCode: -1, Signal: 9}},
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					p := newFixture(t)
					spec := p.spec()
					if spec.Grace = 10 * time.Minute; tt.want.Signal == syscall.SIGKILL {
						spec.Grace = 200 * time.Millisecond
					}
					s := inside(t, spec, level)
					cmd, l := startReady(t, s, tt.line)
					if err := syscall.Kill(-cmd.Pid, syscall.SIGTERM); err != nil {
						t.Fatal(err)
					}
					if got, err := finish(t, cmd, l); err != nil || got != tt.want {
						t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
					}
				})
			}
		})
	}
}

// startReady starts a line of bash, and waits until it reports that it is ready.
func startReady(t *testing.T, s *Sandbox, line string) (*command, *Launch) {
	t.Helper()
	r, w := io.Pipe()
	cmd, l := start(t, s, w, nil, s.bounds.Workspace, "bash", "-c", line)
	text := make([]byte, 5)
	if _, err := io.ReadFull(r, text); err != nil || string(text) != "ready" {
		t.Fatalf("got %q, %v", text, err)
	}
	go io.Copy(io.Discard, r)
	return cmd, l
}

// Readable paths are optional: a report directory may be removed during a run.
// Paths that keep commands from writing are required.
func TestReadableDirectoryCanBeRemoved(t *testing.T) {
	for _, level := range confining() {
		p := newFixture(t)
		more := filepath.Join(p.dir, "more")
		control := filepath.Join(p.workspace, "control")
		for _, dir := range []string{more, control} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		spec := p.spec()
		spec.Grants = []Grant{NewGrant(more, false), NewGrant(control, false)}
		box := inside(t, spec, level)
		if err := os.Remove(more); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, box, "echo works"); got.err != nil || got.output != "works\n" {
			t.Errorf("level %s: %q, %v", level, got.output, got.err)
		}
		if err := os.Remove(control); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, box, "echo works"); level == Full && got.err == nil {
			t.Errorf("level %s: a command runs without what was to be read-only: %q", level, got.output)
		}
	}
}
