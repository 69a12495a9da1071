package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	appworld "github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/proc/signals"
)

// Variables of a millhand process of these tests. A moment is "NUMBER DELAY POINT": that time after
// the process has hit the point so often.
const (
	hitsVariable   = "FAULTS_HITS"   // a file to which the name of each point that is hit is added
	killVariable   = "FAULTS_KILL"   // the moment at which the process is killed
	stopVariable   = "FAULTS_STOP"   // the moment at which the process is stopped, until SIGCONT
	signalVariable = "FAULTS_SIGNAL" // "SIGNAL GAP MOMENT": the process gets a signal, and another one after a time; 0s for none
	fillVariable   = "FAULTS_FILL"   // "DIR MOMENT": the disk of a directory becomes full
	clockVariable  = "FAULTS_CLOCK"  // "JUMP MOMENT": the machine's clock is set
)

// start is main of a millhand process of these tests.
func start() {
	window := command.SameSignal
	var armed []func(name string)
	if hits := os.Getenv(hitsVariable); hits != "" {
		armed = append(armed, recordHits(hits))
	}
	if moment := os.Getenv(killVariable); moment != "" {
		armed = append(armed, at(moment, kill))
	}
	if moment := os.Getenv(stopVariable); moment != "" {
		armed = append(armed, at(moment, stop))
	}
	if text := os.Getenv(signalVariable); text != "" {
		window = time.Millisecond
		signal, rest, _ := strings.Cut(text, " ")
		gap, moment, _ := strings.Cut(rest, " ")
		armed = append(armed, at(moment, interrupt(number(signal), duration(gap))))
	}
	if text := os.Getenv(fillVariable); text != "" {
		dir, moment, _ := strings.Cut(text, " ")
		armed = append(armed, at(moment, func() { fill(filepath.Join(dir, ballast)) }))
	}
	if text := os.Getenv(clockVariable); text != "" {
		jump, moment, _ := strings.Cut(text, " ")
		by := duration(jump)
		armed = append(armed, at(moment, func() { setClock(by) }))
	}
	failpoint.Arm(func(name string) {
		for _, hit := range armed {
			hit(name)
		}
	})
	command.Start(signals.Catch(), window, func(w *appworld.World) { w.Sleep, w.System = briefly, []string{"/etc"} })
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// interrupt returns a function that sends this process a signal, and another one after a gap; 0
// for none.
func interrupt(signal int, gap time.Duration) func() {
	send := func() { _ = syscall.Kill(os.Getpid(), syscall.Signal(signal)) }
	return func() {
		send()
		if gap > 0 {
			time.AfterFunc(gap, send)
		}
	}
}

// briefly waits so shortly that pauses between writes to a forge don't take the tests' time.
func briefly(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(d, time.Millisecond)):
		return nil
	}
}

func recordHits(file string) func(string) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return func(name string) { fmt.Fprintln(out, name) }
}

// at returns a function for failpoint.Arm that does something at a moment.
func at(moment string, do func()) func(string) {
	fields := strings.SplitN(moment, " ", 3)
	left, later, point := number(fields[0]), duration(fields[1]), fields[2]
	if left == 0 {
		time.AfterFunc(later, do)
	}
	var mu sync.Mutex
	return func(name string) {
		if name != point && point != anyPoint {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		left--
		switch {
		case left == 0 && later == 0:
			do()
		case left == 0:
			time.AfterFunc(later, do)
		}
	}
}

// ballast is the name of the file that fills a disk.
const ballast = "ballast"

// fill writes a file until the disk is full.
func fill(file string) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for chunk := make([]byte, 64<<10); len(chunk) > 0; {
		if _, err := out.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	_ = out.Close()
}

// setClock sets the machine's clock, forwards or back.
func setClock(by time.Duration) {
	now := unix.NsecToTimeval(time.Now().Add(by).UnixNano())
	if err := unix.Settimeofday(&now); err != nil {
		panic(err)
	}
}

// anyPoint stands for all points.
const anyPoint = "any"

// kill kills the process. Nothing of it runs afterwards.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// stop stops the process until SIGCONT. On a busy machine a thread runs for a while after the signal was
// sent: it must not go on.
func stop() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(time.Second)
}
