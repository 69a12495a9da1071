package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/failpoint"
)

// Variables of a millhand process of these tests. A moment is "NUMBER DELAY POINT": that time after
// the process has hit the point so often.
const (
	hitsVariable   = "FAULTS_HITS"   // a file to which the name of each point that is hit is added
	killVariable   = "FAULTS_KILL"   // the moment at which the process is killed
	signalVariable = "FAULTS_SIGNAL" // "SIGNAL GAP MOMENT": the process gets a signal, and another one after a time; 0s for none
)

// start is main of a millhand process of these tests.
func start() {
	window := command.SameSignal
	if hits := os.Getenv(hitsVariable); hits != "" {
		failpoint.Arm(recordHits(hits))
	}
	if moment := os.Getenv(killVariable); moment != "" {
		failpoint.Arm(at(moment, kill))
	}
	if text := os.Getenv(signalVariable); text != "" {
		window = time.Millisecond
		fields := strings.SplitN(text, " ", 3)
		number, err := strconv.Atoi(fields[0])
		gap, bad := time.ParseDuration(fields[1])
		if err != nil || bad != nil {
			panic(text)
		}
		send := func() { _ = syscall.Kill(os.Getpid(), syscall.Signal(number)) }
		failpoint.Arm(at(fields[2], func() {
			send()
			if gap > 0 {
				time.AfterFunc(gap, send)
			}
		}))
	}
	command.Start(window, func(w *command.World) { w.Sleep = briefly })
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
	left, err := strconv.Atoi(fields[0])
	later, bad := time.ParseDuration(fields[1])
	if err != nil || bad != nil {
		panic(moment)
	}
	point := fields[2]
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

// anyPoint stands for all points.
const anyPoint = "any"

// kill kills the process. Nothing of it runs afterwards.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
