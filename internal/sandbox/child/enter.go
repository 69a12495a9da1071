//go:build linux

package child

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

func init() { //nolint:gochecknoinits // see the package's comment: main runs milliseconds later
	if len(os.Args) > 1 && os.Args[0] == Name {
		syscall.Exit(enter(os.Args[1], os.Args[2:]))
	}
}

// enter runs the child and returns its exit code.
func enter(dir string, args []string) int {
	runtime.LockOSThread() // the parent sees the IDs, limits and namespaces of the first thread
	if err := linux.CloseRange(PlanFile, ^uint(0), linux.CLOSE_RANGE_CLOEXEC); err != nil {
		return refuse(failed("set close-on-exec", err))
	}
	terms, ready := make(chan os.Signal, 1), make(chan struct{})
	go func() { // in parallel: it waits for threads
		signal.Notify(terms, syscall.SIGTERM)
		close(ready)
	}()
	plan, err := readPlan()
	if err != nil {
		return refuse(err)
	}
	if err := prepare(plan); err != nil {
		return refuse(err)
	}
	return supervise(plan, terms, ready, dir, args)
}

// prepare sets up the process, before a thread is confined.
func prepare(plan *Plan) error {
	raiseOOMScore()
	if plan.Namespaces {
		if err := enterNamespaces(plan); err != nil {
			return err
		}
	} else if err := linux.Prctl(linux.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failed("adopt orphans", err)
	}
	if err := limit(plan); err != nil {
		return err
	}
	if err := linux.Prctl(syscall.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed("make the supervisor undumpable", err)
	}
	return nil
}

func enterNamespaces(plan *Plan) error {
	if err := mapSelf(plan.UID, plan.GID); err != nil {
		return err
	}
	if err := buildRoot(plan.Mounts); err != nil {
		return err
	}
	dropOverride()
	if err := loopbackUp(); err != nil {
		return err
	}
	if err := limitPIDs(plan.Limits); err != nil {
		return err
	}
	if err := seal(plan.Mounts); err != nil {
		return err
	}
	if plan.ListenPort != 0 {
		return handListener(plan.ListenPort)
	}
	return nil
}

// readPlan reads the plan without moving the file's offset, which all children of a job
// share.
func readPlan() (*Plan, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(PlanFile, &st); err != nil {
		return nil, failed("find the plan", err)
	}
	text := make([]byte, st.Size)
	n, err := syscall.Pread(PlanFile, text, 0)
	if err == nil && n != len(text) {
		err = errMalformed
	}
	if err != nil {
		return nil, failed("read the plan", err)
	}
	plan, err := decode(text)
	if err != nil {
		return nil, failed("read the plan", err)
	}
	return plan, nil
}

// say sends a message to the parent. followParent detects that the parent is gone.
func say(kind byte, text string) {
	syscall.Write(ControlFile, append([]byte{kind}, text...)) //nolint:errcheck // see above
}

func refuse(err error) int {
	var errno syscall.Errno
	errors.As(err, &errno)
	say(ReportRefused, strconv.Itoa(int(errno))+" "+err.Error())
	return Refused
}
