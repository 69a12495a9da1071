package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
	"github.com/millhand/millhand/internal/testing/viewtest"
)

// terminal is a pseudo-terminal with a program, whose output it records.
type terminal struct {
	t          *testing.T
	cmd        *exec.Cmd
	master     *os.File
	cols, rows int

	mu      sync.Mutex
	output  []byte
	written chan struct{} // receives after output has grown, and is closed at the end
}

// inTerminal starts a program in a directory, as the leader of a terminal's session.
func inTerminal(t *testing.T, cols, rows uint16, dir string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) //nolint:gosec // a test's own
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, slave, slave, slave
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MILLHAND_") }) // of the tests, such as MILLHAND_BASE
	cmd.Env = append(environment, "TERM=xterm", "CI=", "GITHUB_ACTIONS=", "NO_COLOR=", "PS1=$ ", "HISTFILE=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &terminal{t: t, cmd: cmd, master: master, cols: int(cols), rows: int(rows), written: make(chan struct{}, 1)}
	go v.record()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return v
}

func (v *terminal) record() {
	defer close(v.written)
	buf := make([]byte, 4096)
	for {
		n, err := v.master.Read(buf)
		if err != nil { // EIO after the last program has closed it
			return
		}
		v.mu.Lock()
		v.output = append(v.output, buf[:n]...)
		v.mu.Unlock()
		select {
		case v.written <- struct{}{}:
		default:
		}
	}
}

// incomplete matches a control sequence or character at the end, which the next read continues.
var incomplete = regexp.MustCompile(`(\x1b(\[[0-9;?]*)?|[\xc0-\xff][\x80-\xbf]{0,2})$`)

func (v *terminal) recorded() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if end := incomplete.FindIndex(v.output); end != nil && end[1]-end[0] < 16 {
		return append([]byte{}, v.output[:end[0]]...)
	}
	return append([]byte{}, v.output...)
}

// screen returns the rows of the terminal after some output.
func (v *terminal) screen(output []byte) string {
	replayed := &viewtest.Terminal{TB: v.t, Cols: v.cols, Rows: v.rows}
	replayed.Write(output)
	return replayed.String()
}

// waitFor waits until the rows match an expression, and returns them.
func (v *terminal) waitFor(expression string) string {
	v.t.Helper()
	re := regexp.MustCompile(expression)
	for deadline := time.After(5 * time.Minute); ; {
		screen := v.screen(v.recorded())
		if re.MatchString(screen) {
			return screen
		}
		select {
		case _, ok := <-v.written:
			if !ok && !re.MatchString(v.screen(v.recorded())) {
				v.t.Fatalf("the program ended without %s:\n%s", expression, v.screen(v.recorded()))
			}
		case <-deadline:
			v.t.Fatalf("no %s on the terminal:\n%s", expression, screen)
		}
	}
}

func (v *terminal) enter(keys string) {
	v.t.Helper()
	if _, err := v.master.WriteString(keys); err != nil {
		v.t.Fatal(err)
	}
}

// TestSuspendedRunLeavesNoLiveLines suspends a run with Ctrl-Z in a shell, and continues it.
func TestSuspendedRunLeavesNoLiveLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.yaml":     "version: 1\nmodel: script:model.yaml\nprofile: build\nallow_unknown_price: true\nrepos: [{copy: shop}]\ntasks: [{id: wait, prompt: Wait.}]\n",
		"model.yaml": "version: 1\nturns:\n- calls: [{tool: bash, args: {command: 'until [ -e " + dir + "/go ]; do sleep 0.1; done', description: wait}}]\n- text: Done.\n",
		"shop/a":     "a\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const live = `\[0/1\] +\S+ +1 running`
	v := inTerminal(t, 40, 30, dir, "bash", "--norc", "--noediting", "-i")
	v.enter("millhand run m.yaml --sandbox off --log-format console\n")
	v.waitFor(live)
	v.waitFor("bash until")
	for range 2 {
		v.enter("\x1a")
		screen := v.waitFor(`Stopped[^$]*\n\$ *\n$`)
		if regexp.MustCompile(live).MatchString(screen) {
			t.Errorf("a live line is left:\n%s", screen)
		}
		v.enter("fg\n")
		v.waitFor(live)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	screen := v.waitFor(`show them: `)
	if strings.Contains(screen, "running") || !strings.Contains(screen, "run passed in") {
		t.Errorf("the terminal has\n%s", screen)
	}
}

// TestSessionIsShownInAPager shows a session on a terminal.
func TestSessionIsShownInAPager(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.yaml":     "version: 1\nmodel: script:model.yaml\nprofile: readonly\nallow_unknown_price: true\nrepos: [{path: .}]\ntasks: [{id: a, prompt: Go.}]\n",
		"model.yaml": "version: 1\nturns:\n- text: Done.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := inTerminal(t, 100, 60, dir, "bash", "--norc", "--noediting", "-i")
	v.enter("git init -q . && millhand run m.yaml --report-dir out -q; PAGER='sed s/^/paged:/' millhand session show out; echo ended\n")
	v.waitFor(`paged:session a\n(paged:.*\n)*paged:  Done\.\nended\n`)
	v.enter("PAGER=no-such-pager millhand session show out; echo ended $?\n")
	v.waitFor(`millhand: run the pager "no-such-pager": exit status 127\nended 2\n`)
}

// TestQuickstartOnATerminal runs the quickstart on a narrow terminal, and nightly on wider
// ones. There is never more than one set of live lines, and none is left.
func TestQuickstartOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	widths := []uint16{40}
	if nightly.On() {
		widths = append(widths, 80, 120)
	}
	for _, cols := range widths {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			v := inTerminal(t, cols, 24, t.TempDir(), "millhand", "run", scripts.Root(t)+"/examples/quickstart/millhand.yaml", "--report-dir", "out")
			screen := v.waitFor("show them: ")
			replayed := &viewtest.Terminal{TB: t, Cols: v.cols, Rows: v.rows}
			live := 0
			for redraw := range bytes.SplitSeq(v.recorded(), []byte("\r")) { // each redraw starts with it
				replayed.Write(redraw)
				replayed.Write([]byte("\r"))
				if n := strings.Count(replayed.String(), "[0/1]"); n > 1 {
					t.Fatalf("a live line was not removed:\n%s", replayed)
				} else if n == 1 {
					live++
				}
			}
			unwrapped := strings.ReplaceAll(screen, "\n", "")
			if live == 0 || strings.Contains(unwrapped, "1 running") || !strings.Contains(unwrapped, "run passed in") || !strings.Contains(screen, "\n\nFixed in div_round") {
				t.Errorf("%d redraws with live lines; the terminal has\n%s", live, screen)
			}
		})
	}
}
