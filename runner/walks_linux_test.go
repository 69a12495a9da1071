package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// A job in the user's own tree calls lstat(2) for each file once, in the preflight, if only built-in tools write tracked
// files. After each command its files are searched for changes once more, and the growth of the disk needs a
// measurement before the first one. Each search lists every directory, which this test counts.
func TestWalksOfTheOwnTree(t *testing.T) {
	const (
		edit    = "{tool: edit, args: {filePath: src/a, oldString: one, newString: two}}"
		write   = "{tool: write, args: {filePath: src/new, content: x}}"
		command = `{tool: bash, args: {command: "echo two >src/a", description: change a file}}`
	)
	levels := []sandbox.Level{sandbox.None}
	if sandbox.Probe(t.Context(), t.TempDir()).Best == sandbox.Full {
		levels = append(levels, sandbox.Full)
	}
	for _, c := range []struct {
		name  string
		calls []string
		dirty bool // the manifest allows a dirty tree, which is clean
		want  map[sandbox.Level]int
	}{
		// At level A each job lists directories twice without lstat(2), for nested repositories and build caches. Without a
		// sandbox each job with a call measures the disk.
		{"no call", nil, false, map[sandbox.Level]int{sandbox.None: 1, sandbox.Full: 3}},
		{"an edit", []string{edit}, false, map[sandbox.Level]int{sandbox.None: 2, sandbox.Full: 3}},
		{"an edit in a tree that may be dirty", []string{edit}, true, map[sandbox.Level]int{sandbox.None: 2, sandbox.Full: 3}},
		{"a new file", []string{write}, false, map[sandbox.Level]int{sandbox.None: 3, sandbox.Full: 4}},
		{"an edit and a new file", []string{edit, write}, false, map[sandbox.Level]int{sandbox.None: 3, sandbox.Full: 4}},
		{"a command", []string{command}, false, map[sandbox.Level]int{sandbox.None: 4, sandbox.Full: 5}}, // without a sandbox, processes can continue
		{"two commands", []string{command, command}, false, map[sandbox.Level]int{sandbox.None: 5, sandbox.Full: 6}},
		{"an edit after a command", []string{command, edit}, false, map[sandbox.Level]int{sandbox.None: 4, sandbox.Full: 5}},
	} {
		for _, level := range levels {
			t.Run(c.name+" "+string(level), func(t *testing.T) {
				s := setUp(t)
				for i := range 100 {
					name := filepath.Join(s.repo, fmt.Sprintf("d%d/f%d", i%5, i))
					mkdirFor(t, name)
					writeFile(t, name, "one\n")
				}
				mkdirFor(t, filepath.Join(s.repo, "src/a")) // calls list the directories of their files, too
				writeFile(t, filepath.Join(s.repo, "src/a"), "one\n")
				git(t, s.repo, "add", "-A")
				git(t, s.repo, "commit", "-q", "-m", "files")
				var turns strings.Builder
				for _, call := range c.calls {
					turns.WriteString("  - {calls: [" + call + "]}\n")
				}
				s.opts.Equipment.OpenModel = plays(t, turns.String()+"  - {text: ok}\n")
				s.opts.Level, s.opts.Sandbox.Level = level, string(level)
				job := s.job("j")
				job.Commit = nil
				job.Limits.Disk = 1 << 30
				listed := listings(t, s.repo, 5)
				if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, AllowDirty: c.dirty, Jobs: []tasks.Job{job}}); exit != event.ExitOK {
					t.Fatalf("exit %d: %v", exit, s.ends())
				}
				want := c.want[level]
				for _, e := range s.of(event.CallUpdated) { // on a slow machine the disk is measured while a command runs
					want += int(e.Call.ElapsedMS / 250)
				}
				if got := listed(); got == 0 || got > want { // two at the same time can count as one
					t.Errorf("the tree is listed %d times, want %d", got, want)
				}
			})
		}
	}
}

// listings returns a function that reports how often the directories d0, d1, ... of a tree were
// listed since then: the maximum of them.
func listings(t *testing.T, root string, dirs int) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) {
		t.Skipf("the user has too many inotify instances: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for i := range dirs {
		// The end of each listing is read, too: equal events in a row are one.
		if _, err := unix.InotifyAddWatch(fd, filepath.Join(root, fmt.Sprintf("d%d", i)), unix.IN_OPEN|unix.IN_CLOSE_NOWRITE); errors.Is(err, unix.ENOSPC) {
			t.Skipf("the user has too many inotify watches: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() (most int) {
		count := map[int32]int{}
		for buf := make([]byte, 1<<20); ; {
			n, err := unix.Read(fd, buf)
			if n <= 0 || err != nil {
				break
			}
			for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
				e := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
				if e.Mask&unix.IN_OPEN != 0 && e.Mask&unix.IN_ISDIR != 0 && e.Len == 0 {
					count[e.Wd]++
				}
				rest = rest[unix.SizeofInotifyEvent+int(e.Len):]
			}
		}
		for _, n := range count {
			most = max(most, n)
		}
		return most
	}
}
