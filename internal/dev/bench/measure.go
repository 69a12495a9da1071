//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/testing/wiretest"
)

// usage is the resource usage of one process.
type usage struct {
	first   time.Duration // from its start to its first request
	wall    time.Duration // from its start to its end
	cpu     time.Duration // user and system, without its children
	peak    int           // of its resident memory, in bytes, without its children
	request int           // bytes of the first request's body
	sent    int           // bytes of all requests' bodies
	served  time.Duration // time waiting for the server, which is this program
}

// endpoint serves one script after another, and records the time and size of the first
// request.
type endpoint struct {
	url    string
	server *http.Server
	done   chan error

	mu      sync.Mutex
	script  *wiretest.Server
	delay   time.Duration // before each response
	first   time.Time
	request int
	sent    int
	served  time.Duration
}

func listen(ctx context.Context) (*endpoint, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	e := &endpoint{url: "http://" + listener.Addr().String() + "/v1", done: make(chan error)}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go func() { e.done <- e.server.Serve(listener) }()
	return e, nil
}

func (e *endpoint) close() {
	e.server.Close() //nolint:errcheck // it only listened on loopback
	<-e.done
}

// slow sets the delay before each response of the model.
func (e *endpoint) slow(delay time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delay = delay
}

// play serves s from its start.
func (e *endpoint) play(s *wiretest.Server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script, e.first, e.request, e.sent, e.served = s, time.Time{}, 0, 0, 0
}

// ServeHTTP implements [http.Handler].
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	e.mu.Lock()
	script, delay, first := e.script, e.delay, e.first.IsZero()
	if first {
		e.first = now
	}
	e.mu.Unlock()
	size := 0
	r.Body = counted{r.Body, &size}
	time.Sleep(delay)
	script.ServeHTTP(w, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	if first {
		e.request = size
	}
	e.sent += size
	e.served += time.Since(now)
}

// counted counts the bytes read.
type counted struct {
	io.ReadCloser
	n *int
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.n += n
	return n, err
}

// measure runs a command and waits for it.
func (e *endpoint) measure(cmd *exec.Cmd) (usage, error) {
	log, err := os.CreateTemp("", "millhand-bench-log-") // a file, as in a CI: no pipe that has to be copied
	if err != nil {
		return usage{}, fmt.Errorf("create a log: %w", err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	peak := watchPeak(cmd.Process.Pid)
	err = awaitEnd(cmd.Process.Pid)
	u := usage{wall: time.Since(began), peak: peak()}
	children, childErr := childTime(cmd.Process.Pid)
	if err := errors.Join(cmd.Wait(), err, childErr); err != nil {
		said, _ := os.ReadFile(log.Name()) // there is an error already
		return u, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said)
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - children
	e.mu.Lock()
	defer e.mu.Unlock()
	u.first, u.request, u.sent, u.served = e.first.Sub(began), e.request, e.sent, e.served
	return u, nil
}

// awaitEnd waits until a process has exited without reaping it, so that it remains in
// /proc.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// childTime returns the CPU time of the children that a process has waited for: cutime
// and cstime of proc_pid_stat(5), in hundredths of a second. They are rounded down, so
// that the remaining time of the process itself is never too low.
func childTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const cutime, cstime, tick = 16 - 3, 17 - 3, 10 * time.Millisecond
	var sum time.Duration
	for _, field := range []int{cutime, cstime} {
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// cpuTime returns the CPU time of this process (RUSAGE_SELF), or of all children that it
// has waited for (RUSAGE_CHILDREN): of children that run one at a time the difference is
// that of one.
func cpuTime(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchPeak polls a process's peak memory (VmHWM of proc_pid_status(5)) until the
// returned function is called, which returns the last value. The kernel's value for an
// exited process would include this program's memory, which the process shared before
// exec.
func watchPeak(pid int) (stop func() int) {
	over, peak := make(chan struct{}), make(chan int)
	go func() {
		last := 0
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				peak <- last
				return
			case <-tick.C:
				last = max(last, highWater(pid))
			}
		}
	}()
	return func() int { close(over); return <-peak }
}

// highWater returns a process's VmHWM in bytes; 0 after it has released its memory.
func highWater(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		return 0
	}
	return kib << 10
}
