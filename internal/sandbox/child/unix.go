//go:build linux

package child

import (
	"errors"
	"strconv"
	"sync"
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// ownSockets connects sockets for the command, which may connect to a unix socket in the
// file system only if a command bound it: otherwise it could reach any server whose
// socket is in the workspace or in a directory of the system, even a read-only one.
//
// The kernel does not tell which process bound the socket of a file. Therefore the filter
// also delegates listen: the supervisor asks the kernel for the file of the listening
// socket, holds that file open, and lets the kernel execute the call. A race gains
// nothing: every socket that a process of this namespace can pass to listen was created
// in the namespace, because commands inherit none.
//
// It never lets the kernel execute connect, which would read the address again. It copies
// the address, opens the path as the caller would, compares the file with those that it
// holds, and connects a duplicate of the caller's socket to the open file. Memory,
// descriptors, symlinks and files that change in the meantime change neither the file nor
// the comparison, and an inode number is not reused while its file is held. A path that
// is resolved differently than by the caller can only lead to another socket of the
// command. Sockets without a path belong to the network namespace and are not restricted.
//
// The listening process sees this process as the peer (SO_PEERCRED), with the command's
// user and group, but PID 1. Landlock replaces all this since Linux 7.1, see ResolvesUnix.
type ownSockets struct {
	mu    sync.Mutex
	files map[inode]int // file descriptors (O_PATH)
	prune int           // remove deleted files at this number
}

// inode identifies an open file.
type inode struct{ dev, ino uint64 }

// maxAddr is the size in bytes of struct sockaddr_storage.
const maxAddr = 128

// pruneFrom is the number of files at which deleted ones are first removed.
const pruneFrom = 256

func newOwnSockets() *ownSockets { return &ownSockets{files: map[inode]int{}, prune: pruneFrom} }

// handle handles connect and listen.
func (o *ownSockets) handle(listener int, n *notice) verdict {
	if n.call.nr == syscall.SYS_LISTEN {
		o.listen(listener, n)
		return verdict{carryOn: true}
	}
	return o.connect(listener, n)
}

// listen holds the file of a socket that is about to listen. If it fails, the socket
// can't be connected to.
func (o *ownSockets) listen(listener int, n *notice) {
	fd, err := n.duplicate()
	if err != nil {
		return
	}
	defer syscall.Close(fd)     //nolint:errcheck // only a duplicate
	const siocUnixFile = 0x89e0 // returns a descriptor (O_PATH) of the file of a bound unix socket
	opened, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), siocUnixFile, 0)
	if errno != 0 {
		return // no unix socket, or not bound to a file
	}
	file := int(opened)
	id, err := identify(file)
	if err != nil || !n.stands(listener) || !o.add(id, file) {
		syscall.Close(file) //nolint:errcheck // only a handle
	}
}

// add adds an open file, unless it is held already.
func (o *ownSockets) add(id inode, file int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, held := o.files[id]; held {
		return false
	}
	if len(o.files) >= o.prune {
		for id, file := range o.files {
			var st syscall.Stat_t
			if syscall.Fstat(file, &st) != nil || st.Nlink == 0 {
				syscall.Close(file) //nolint:errcheck // only a handle
				delete(o.files, id)
			}
		}
		o.prune = max(pruneFrom, 2*len(o.files))
	}
	o.files[id] = file
	return true
}

func (o *ownSockets) holds(id inode) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, held := o.files[id]
	return held
}

// connect connects the caller's socket.
func (o *ownSockets) connect(listener int, n *notice) verdict {
	size := int(int32(n.call.args[2]))
	if size < 0 || size > maxAddr {
		return verdict{errno: syscall.EINVAL}
	}
	addr, err := n.read(n.call.args[1], size)
	if err != nil {
		return verdict{errno: syscall.EFAULT}
	}
	fd, err := n.duplicate()
	if err != nil {
		return verdict{errno: syscall.EBADF}
	}
	name, named := socketPath(addr)
	if !named {
		return n.connect(listener, fd, addr)
	}
	file, err := o.find(n, name)
	if err != nil {
		syscall.Close(fd) //nolint:errcheck // only a duplicate
		return verdict{errno: errnoOf(err)}
	}
	return n.connect(listener, fd, unixAddr(handle(file)), file)
}

// find opens a path of the caller, which must be one of the files that it holds.
func (o *ownSockets) find(n *notice, name string) (int, error) {
	file, err := n.open(name)
	if err != nil {
		return -1, err
	}
	id, err := identify(file)
	if err == nil && !o.holds(id) {
		err = syscall.ECONNREFUSED // as if nobody listened, for programs that replace sockets of dead servers
	}
	if err != nil {
		syscall.Close(file) //nolint:errcheck // only a handle
		return -1, err
	}
	return file, nil
}

// socketPath returns the path in a struct sockaddr. For an address without one, which is
// not of a unix socket, or invalid, or abstract, named is false.
func socketPath(addr []byte) (name string, named bool) {
	if len(addr) < 3 || family(addr) != syscall.AF_UNIX || addr[2] == 0 {
		return "", false
	}
	name, _, _ = cut(string(addr[2:]), 0)
	return name, true
}

// unixAddr returns a struct sockaddr_un.
func unixAddr(name string) []byte {
	return append([]byte{syscall.AF_UNIX, 0}, name+"\x00"...)
}

// open opens a path of the caller (O_PATH). Of the names of the caller in /proc it knows
// those at the start of a path.
func (n *notice) open(name string) (int, error) {
	pid, err := n.process()
	if err != nil {
		return -1, err
	}
	own := "/proc/" + strconv.Itoa(pid) + "/"
	thread := own + "task/" + strconv.Itoa(int(n.pid)) + "/"
	for _, a := range []struct{ alias, is string }{{"/proc/self/", own}, {"/proc/thread-self/", thread}, {"/dev/fd/", own + "fd/"}} {
		if len(name) >= len(a.alias) && name[:len(a.alias)] == a.alias {
			name = a.is + name[len(a.alias):]
			break
		}
	}
	dir, err := syscall.Open(thread+"cwd", linux.O_PATH|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(dir) //nolint:errcheck // only a handle
	return syscall.Openat(dir, name, linux.O_PATH|syscall.O_CLOEXEC, 0)
}

// identify returns the identity of an open file.
func identify(file int) (inode, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(file, &st); err != nil {
		return inode{}, err
	}
	return inode{uint64(st.Dev), st.Ino}, nil //nolint:unconvert // other architectures have other types
}

// errnoOf returns the error number of an error.
func errnoOf(err error) syscall.Errno {
	errno := syscall.EACCES
	errors.As(err, &errno)
	return errno
}
