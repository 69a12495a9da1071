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
	if len(os.Args) > 0 && os.Args[0] == Name {
		syscall.Exit(enter())
	}
}

// enter runs the child and returns its exit code.
func enter() int {
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
	request, err := receive()
	if err != nil {
		return refuse(err)
	}
	if request == nil {
		return 0
	}
	if err := enterRoot(plan); err != nil {
		return refuse(err)
	}
	return supervise(plan, terms, ready, request)
}

// prepare sets up the process, before a thread is confined and possibly before its command is
// known: nothing here depends on files of the machine, which can change in the meantime. Other
// commands of the user can't access a process that waits, because it is not dumpable.
func prepare(plan *Plan) error {
	raiseOOMScore()
	if plan.Namespaces {
		if err := prepareNamespaces(plan); err != nil {
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

func prepareNamespaces(plan *Plan) error {
	if err := mapSelf(plan.UID, plan.GID); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	return limitPIDs(plan.Limits)
}

// receive waits for the command, and returns nil if the parent does not need the process any more.
func receive() (*Request, error) {
	buf, oob := make([]byte, 1), make([]byte, syscall.CmsgSpace(4*RequestFiles))
	n, oobn, err := 0, 0, error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		n, oobn, _, _, err = syscall.Recvmsg(ControlFile, buf, oob, syscall.MSG_CMSG_CLOEXEC)
	}
	if err == nil && n == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	var files []int
	if err == nil {
		files, err = sent(oob[:oobn])
	}
	if err != nil {
		return nil, failed("receive the command", err)
	}
	text, err := readAll(files[0])
	if err != nil {
		return nil, failed("read the command", err)
	}
	syscall.Close(files[0]) //nolint:errcheck // it was only read
	for standard, fd := range files[1:] {
		if err := syscall.Dup3(fd, standard, 0); err != nil {
			return nil, failed("set the command's files", err)
		}
		syscall.Close(fd) //nolint:errcheck // it has a duplicate
	}
	request, err := decodeRequest(text)
	if err != nil {
		return nil, failed("read the command", err)
	}
	return request, nil
}

// sent returns the files that were sent with a request.
func sent(oob []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if files, err := syscall.ParseUnixRights(&m); err == nil && len(files) == RequestFiles {
			return files, nil
		}
	}
	return nil, errMalformed
}

// enterRoot changes the root file system to that of the plan, in namespaces.
func enterRoot(plan *Plan) error {
	if !plan.Namespaces {
		return nil
	}
	if err := buildRoot(plan.Mounts); err != nil {
		return err
	}
	dropOverride()
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
	text, err := readAll(PlanFile)
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
	report := byte(ReportRefused)
	if errors.As(err, new(unable)) {
		report = ReportUnable
	}
	say(report, strconv.Itoa(int(errno))+" "+err.Error())
	return Refused
}
