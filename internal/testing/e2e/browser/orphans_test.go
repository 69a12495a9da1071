package browser

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// ending names how the test of a child process ends: the child runs TestEnding alone.
const ending = "MILLHAND_TEST_ENDING"

func TestEnding(t *testing.T) {
	how := os.Getenv(ending)
	if how == "" {
		t.Skip("runs in a child process")
	}
	browser := chromedp.FromContext(chromium(t)).Browser.Process()
	fmt.Printf("browser %d\n", browser.Pid)
	switch how {
	case "failure":
		t.Fatal("failed")
	case "exit": // as at the time limit of go test, because the browser hangs
		if err := browser.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		os.Exit(2)
	}
}

// No process of a browser survives its test, and no file of a browser the end of its test.
func TestNoOrphans(t *testing.T) {
	if testing.Short() {
		t.Skip("starts several browsers, one after another")
	}
	chromium(t) // which skips this test without one
	for _, how := range []string{"failure", "exit"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnding$")
			dir := t.TempDir()
			cmd.Env = append(os.Environ(), ending+"="+how, "TMPDIR="+dir)
			out, _ := cmd.CombinedOutput()
			found := regexp.MustCompile(`browser (\d+)`).FindSubmatch(out)
			if cmd.ProcessState.Success() || found == nil {
				t.Fatalf("%v\n%s", cmd.ProcessState, out)
			}
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
				left := members(t, string(found[1]))
				if len(left) == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("processes of the browser: %q", left)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); how == "failure" && left != nil {
				t.Errorf("files of the browser: %q", left)
			}
		})
	}
}

// members returns the command lines of the processes in a group that run.
func members(t *testing.T, group string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range names {
		data, _ := os.ReadFile(name)
		// After the name, which can have any characters: the state, the parent and the group.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 2 && fields[2] == group && fields[0] != "Z" {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}
