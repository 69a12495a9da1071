//go:build linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// If the kernel refuses a feature that a level requires, as in containers, the next
// lower level is used, or none; then a profile with a shell is refused.
func TestProbeReportsWhatTheKernelRefuses(t *testing.T) {
	const variable = "MILLHAND_TEST_REFUSED"
	refused := os.Getenv(variable)
	if refused == "" {
		for _, r := range []string{"namespaces", "namespaces landlock"} {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestProbeReportsWhatTheKernelRefuses$")
			cmd.Env = append(os.Environ(), variable+"="+r)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", r, err, out)
			}
		}
		return
	}
	if !strings.HasPrefix(refused, "done ") {
		refuse(t, refused)
		t.Setenv(variable, "done "+refused)
		if err := unix.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil {
			t.Fatal(err)
		}
	}
	f := Probe(t.Context(), t.TempDir())
	got, err := Choose(Auto, true, f)
	if strings.Contains(refused, "landlock") {
		if f.Best != None || !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "Landlock") {
			t.Errorf("found %+v, chose %s, %v", f, got, err)
		}
		return
	}
	if f.Best != Partial || got != Partial || err != nil || f.Missing[0].Fix == "" {
		t.Errorf("found %+v, chose %s, %v", f, got, err)
	}
	if _, err := Choose(Require, true, f); !errors.Is(err, ErrAbsent) {
		t.Errorf("require: %v", err)
	}
}

// refuse makes the kernel refuse system calls of programs that this thread executes.
func refuse(t *testing.T, what string) {
	t.Helper()
	runtime.LockOSThread()
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	deny := stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	lack := stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))
	is := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: 1}
	}
	p := []unix.SockFilter{
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0),
		is(unix.SYS_UNSHARE), deny, is(unix.SYS_CLONE3), lack,
	}
	if strings.Contains(what, "landlock") {
		p = append(p, is(unix.SYS_LANDLOCK_CREATE_RULESET), deny)
	}
	p = append(p,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1}, deny,
		stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	f := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f))); errno != 0 {
		t.Fatal(errno)
	}
}
