package sharedfile

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// maxPruned is the number of levels of directories that prune removes: it holds a file descriptor for
// each.
const maxPruned = 64

// prune removes what can be removed of a directory without changing permissions, on several
// processors. It reports no error: [RemoveAll] finds what is left.
func prune(dir string) {
	p := pruning{make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.remove(unix.AT_FDCWD, dir, 0)
}

// pruning limits how many directories are removed concurrently.
type pruning struct{ busy chan struct{} }

// remove removes a directory, given by its name in an open one.
func (p pruning) remove(in int, name string, depth int) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil || depth == maxPruned {
		unix.Close(fd) //nolint:errcheck // of a directory, or invalid
		return
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	var below sync.WaitGroup
	names, _ := dir.Readdirnames(-1) // those before an error
	for _, name := range names {
		if err := unix.Unlinkat(fd, name, 0); err != unix.EISDIR && err != unix.EPERM {
			continue
		}
		select {
		case p.busy <- struct{}{}:
			below.Go(func() {
				p.remove(fd, name, depth+1)
				<-p.busy
			})
		default:
			p.remove(fd, name, depth+1)
		}
	}
	below.Wait()
	unix.Unlinkat(in, name, unix.AT_REMOVEDIR) //nolint:errcheck // see prune
}
