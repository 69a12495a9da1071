package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/files/diskusage"
)

// bash runs a line and returns its result and output.
func bash(t *testing.T, ctx context.Context, line string, timeout time.Duration) (Result, string, error) {
	t.Helper()
	var out bytes.Buffer
	res, err := Run(ctx, Command{
		Args: []string{"bash", "-c", line}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: timeout, Grace: 200 * time.Millisecond, Output: &out,
	})
	return res, out.String(), err
}

func TestRunReportsHowACommandEnded(t *testing.T) {
	tests := []struct {
		line   string
		want   Result
		output string
	}{
		{"echo out; echo err >&2; echo out", Result{}, "out\nerr\nout\n"},
		{"exit 3", Result{ExitCode: 3}, ""},
		{"kill -KILL $$", Result{ExitCode: -1, Signal: syscall.SIGKILL}, ""},
		{"cat", Result{}, ""}, // standard input is empty, not open
		{"read x || echo none", Result{}, "none\n"},
	}
	for _, tt := range tests {
		res, out, err := bash(t, t.Context(), tt.line, time.Minute)
		if err != nil || res != tt.want || out != tt.output {
			t.Errorf("%s: got %+v %q, %v; want %+v %q", tt.line, res, out, err, tt.want, tt.output)
		}
	}
}

func TestACommandIsKilledForWhatItWrites(t *testing.T) {
	dir := t.TempDir()
	disk := diskusage.NewMonitor([]string{dir}, nil, 1<<20, time.Now)
	defer disk.Close()
	disk.Measure()
	res, err := Run(t.Context(), Command{
		Args: []string{"bash", "-c", "head -c 2000000 /dev/zero >file; sleep 1000"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Output: io.Discard, Disk: disk,
	})
	if !errors.Is(err, diskusage.ErrLimit) || res.Signal != syscall.SIGKILL || res.TimedOut {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestAnEmptyEnvironmentStaysEmpty(t *testing.T) {
	t.Setenv("MILLHAND_TEST_SECRET", "s3cret")
	var out bytes.Buffer
	if _, err := Run(t.Context(), Command{Args: []string{"/usr/bin/env"}, Dir: "/", Output: &out}); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 0 {
		t.Errorf("the child sees %q", out.String())
	}
}

func TestTheTimeoutKillsTheProcessGroup(t *testing.T) {
	for name, line := range map[string]string{
		"a plain one":           "echo started; sleep 1000",
		"one that ignores TERM": "trap '' TERM; echo started; sleep 1000 & wait; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			res, out, err := bash(t, t.Context(), line, 200*time.Millisecond)
			for limit := time.Second; err == nil && out == "" && limit < 5*time.Minute; limit *= 4 { // a busy machine starts it late
				res, out, err = bash(t, t.Context(), line, limit)
			}
			if err != nil || !res.TimedOut || out != "started\n" {
				t.Errorf("got %+v %q, %v", res, out, err)
			}
		})
	}
}

func TestNoProcessOfTheGroupOutlivesTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	// The background process holds the output open; the command must not wait
	// for it, and must not leave it.
	res, out, err := bash(t, t.Context(), "sleep 1000 & echo $! >"+file+"; echo done", time.Minute)
	if err != nil || res.ExitCode != 0 || out != "done\n" {
		t.Fatalf("got %+v %q, %v", res, out, err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A process that was killed closes its files a moment before it is gone.
	for end := time.Now().Add(time.Minute); alive(strings.TrimSpace(string(pid))); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s is still alive", pid)
		}
	}
}

// alive reports whether a process runs; one that only waits to be reaped does
// not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestCancelingTheContextKillsACommand(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	var res Result
	var err error
	started := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		res, err = Run(ctx, Command{
			Args: []string{"bash", "-c", "echo started; sleep 1000"}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Output: &onFirst{do: func() { close(started) }},
		})
	}()
	<-started
	cancel(why)
	<-finished
	if !errors.Is(err, why) {
		t.Errorf("got %+v, %v", res, err)
	}
}

// onFirst calls do at the first write.
type onFirst struct{ do func() }

func (o *onFirst) Write(p []byte) (int, error) {
	if o.do != nil {
		o.do()
		o.do = nil
	}
	return len(p), nil
}

func TestProgramNotFound(t *testing.T) {
	_, err := Run(t.Context(), Command{Args: []string{"no-such-program"}, Env: []string{"PATH=/usr/bin"}, Output: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tests := []struct {
		writes []string
		want   string
		total  int64
	}{
		{nil, "", 0},
		{[]string{"abc"}, "abc", 3},
		{[]string{"abcdefgh"}, "efgh", 8},
		{[]string{"ab", "cd", "ef", "gh", "ij"}, "ghij", 10},
		{[]string{"abcdefgh", "i"}, "fghi", 9},
	}
	for _, tt := range tests {
		tail := NewTail(4)
		for _, w := range tt.writes {
			tail.Write([]byte(w))
		}
		if got := string(tail.Bytes()); got != tt.want || tail.Total() != tt.total {
			t.Errorf("%q: got %q of %d, want %q of %d", tt.writes, got, tail.Total(), tt.want, tt.total)
		}
	}
}

func TestChildEnvHasOnlyNamedVariables(t *testing.T) {
	parent := map[string]string{"PATH": "/bin", "HOME": "/h", "OPENAI_API_KEY": "sk-1", "CI": "true"}
	env := ChildEnv(func(n string) string { return parent[n] }, []string{"CI", "UNSET"})
	got := strings.Join(env, " ")
	if got != "PATH=/bin HOME=/h CI=true" {
		t.Errorf("got %s", got)
	}
	if p := Value(ChildEnv(func(string) string { return "" }, nil), "PATH"); p == "" {
		t.Error("a child without any PATH")
	}
}
