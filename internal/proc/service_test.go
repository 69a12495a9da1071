package proc

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

func startService(t *testing.T, line string) *Service {
	t.Helper()
	s, err := StartService(t.Context(), Command{Args: []string{"bash", "-c", line}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServicesAreUsedThroughPipes(t *testing.T) {
	s := startService(t, `while read -r line; do echo "got $line"; echo "note $line" >&2; done; echo bye; exit 3`)
	lines := bufio.NewReader(s)
	for _, text := range []string{"one", "two"} {
		if _, err := io.WriteString(s, text+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "got "+text+"\n" {
			t.Fatalf("read %q, %v", line, err)
		}
	}
	s.Close() // its input ends, so it exits by itself
	if res, err := s.Result(); err != nil || res.ExitCode != 3 {
		t.Errorf("got %+v, %v; want exit code 3", res, err)
	}
	if got := string(s.Stderr()); got != "note one\nnote two\n" {
		t.Errorf("standard error is %q", got)
	}
}

func TestServicesThatIgnoreTheirInputAreKilled(t *testing.T) {
	s := startService(t, `trap '' TERM; echo up; while :; do sleep 1000 & wait; done`)
	if line, err := bufio.NewReader(s).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	s.Close()
	if res, err := s.Result(); err == nil || res.Signal != syscall.SIGKILL {
		t.Errorf("got %+v, %v; want SIGKILL", res, err)
	}
}

func TestWritesToAnEndedServiceFail(t *testing.T) {
	s := startService(t, `echo last; echo why >&2; exit 1`)
	if out, err := io.ReadAll(s); err != nil || string(out) != "last\n" {
		t.Errorf("read %q, %v", out, err)
	}
	<-s.Ended()
	if _, err := io.WriteString(s, strings.Repeat("x", 1<<20)); err == nil {
		t.Error("writing to an ended service did not fail")
	}
	if got := string(s.Stderr()); got != "why\n" {
		t.Errorf("standard error is %q", got)
	}
	s.Close()
	_, err := StartService(t.Context(), Command{Args: []string{"no-such-program"}, Dir: t.TempDir(), Env: []string{"PATH=/nowhere"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("error is %v", err)
	}
}
