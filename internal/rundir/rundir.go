// Package rundir owns the report directory of a run: who may write there, what
// becomes of an earlier run's files, the events and reports that are written,
// and the runs that are saved there. Package reportdir, below it, is one open
// directory and knows nothing of runs. No job is run here.
package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/internal/sandbox"
)

// Dir is a run's report directory, held by a lock.
//
// Where it lies in a tree that jobs work on in place, and commands could change
// it, the reports are written into the run's private directory and moved to
// their place when no command is left.
type Dir struct {
	path string // absolute: where the reports belong
	now  func() time.Time
	lock *Lock
	made bool           // by this run
	dir  *reportdir.Dir // what is written into
	tree string         // that the reports are moved into at the end, without symlinks; "" if they are in place
	rel  string         // where in the tree, as it was when the run began

	events  *os.File  // once the run has begun
	reserve io.Closer // room on the disk for reports
	gaveUp  bool      // kept outputs, for room

	mu      sync.Mutex
	left    []string // worktrees with work that is kept nowhere else
	work    string   // private directory for worktrees
	working *Lock
}

// Claim keeps every other run out of a report directory that the caller names.
// The default one (an empty path), which is this run's alone, is not made before
// the run begins. The caller closes what is returned.
func Claim(path, id string, now func() time.Time) (*Dir, error) {
	if path == "" {
		abs, err := filepath.Abs(filepath.Join(".millhand", "runs", id))
		if err != nil {
			return nil, fmt.Errorf("make a report directory: %w", err)
		}
		return &Dir{path: abs, now: now}, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("make the report directory %s: %w", path, err)
	}
	d := &Dir{path: abs, now: now}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		d.made = true
	}
	base, below := splitOwn(d.path)
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, fmt.Errorf("make the report directory: %w; nothing was run", err)
	}
	if d.dir, err = reportdir.Make(base, below, false); err != nil {
		return nil, fmt.Errorf("%w; nothing was run", err)
	}
	d.lock, err = TakeLock(d.path, id, d.now())
	return d, err
}

// splitOwn splits a report directory at the first .millhand in its path, below
// which a repository or an agent may have put a symlink. Without one, all of it is
// as the caller says.
func splitOwn(dir string) (base, below string) {
	const own = "/.millhand/"
	at := strings.Index(filepath.ToSlash(dir)+"/", own)
	if at < 0 {
		return dir, "."
	}
	return dir[:at+1], dir[at+1:]
}

// claimDefault makes the default report directory. Its parents are in a tree
// that agents of earlier runs may have worked on: a symlink among them may lead
// anywhere, and is not followed.
func (d *Dir) claimDefault(id string) (err error) {
	own := filepath.Dir(filepath.Dir(d.path))
	if d.dir, err = reportdir.Make(filepath.Dir(own), filepath.Join(".millhand", "runs", id), false); err != nil {
		return fmt.Errorf("%w: give --report-dir; nothing was run", err)
	}
	d.made = true
	if above, err := reportdir.Enter(filepath.Dir(own), ".millhand"); err == nil {
		defer above.Close()
		if f, err := above.Create(".gitignore"); err == nil { // so that git ignores the runs; without it they only show
			f.WriteString("*\n") //nolint:errcheck // see above
			f.Close()
		}
	}
	d.lock, err = TakeLock(d.path, id, d.now())
	return err
}

// Begin makes what the run writes into. What an earlier run left in the
// directory is moved aside, not lost. Jobs work on the trees in place.
func (d *Dir) Begin(id string, level sandbox.Level, trees []string, jobs int) error {
	if d.lock == nil {
		if err := d.claimDefault(id); err != nil {
			return err
		}
	}
	if err := setAside(d.dir, id); err != nil {
		return err
	}
	if err := d.makeWork(id); err != nil {
		return fmt.Errorf("make a directory for worktrees: %w; nothing was run", err)
	}
	if d.tree = d.exposed(level, trees); d.tree != "" {
		d.rel, _ = relative(d.tree, d.path)
		if _, inside := relative(d.tree, d.work); inside {
			return fmt.Errorf("TMPDIR (%s) lies in %s, which jobs work on in place: set TMPDIR to a directory outside of it; nothing was run", filepath.Dir(d.work), d.tree)
		}
		if err := d.goAway(); err != nil {
			return fmt.Errorf("make a directory for the reports: %w; nothing was run", err)
		}
	}
	var err error
	if d.reserve, err = reserve(d.dir, jobs); err != nil {
		return fmt.Errorf("%w; nothing was run", err)
	}
	if d.events, err = d.dir.Create("events.jsonl"); err != nil {
		return fmt.Errorf("write into the report directory: %w; nothing was run", err)
	}
	d.prune()
	return nil
}

// What is set aside on the report directory's disk for the reports, in bytes: by
// run and by job, never more than half of what is free. With less than the least
// no run begins.
const (
	leastRoom   = 64 << 10
	reserveRun  = 256 << 10
	reserveJob  = 64 << 10
	mostReserve = 16 << 20
)

// reserve sets room aside, so that a disk that fills up while jobs run has some
// for the reports.
func reserve(dir *reportdir.Dir, jobs int) (io.Closer, error) {
	free, want := dir.Free(), int64(min(reserveRun+jobs*reserveJob, mostReserve))
	if free >= 0 && free < leastRoom {
		return nil, fmt.Errorf("%s: only %d KiB are left on the disk of the report directory: make room, or give another --report-dir", dir.Path(), free>>10)
	}
	if free >= 0 {
		want = min(want, free/2)
	}
	return dir.Reserve(want)
}

// makeWork makes the run's private directory.
func (d *Dir) makeWork(id string) error {
	// Of the same length in every run, lest outputs that name it differ in size.
	work := filepath.Join(os.TempDir(), "millhand-"+id[strings.LastIndexByte(id, '-')+1:])
	err := os.Mkdir(work, 0o700)
	if err == nil {
		d.work, err = filepath.EvalSymlinks(work)
	}
	if err == nil {
		d.working, err = TakeLock(d.work, id, d.now())
	}
	if err == nil {
		sweep(filepath.Dir(d.work), d.now())
	}
	return err
}

// KeptWork is where worktrees stay that are kept: in the report directory, if
// that doesn't move.
func (d *Dir) KeptWork() (string, error) {
	if d.tree == "" {
		return filepath.Join(d.path, "work"), d.dir.Mkdir("work")
	}
	return os.MkdirTemp(filepath.Dir(d.work), "millhand-kept-")
}

// Private lists the directories of reports, without symlinks: those of this run,
// and those of others by the working directory and the trees that are worked on
// in place.
func (d *Dir) Private(trees []string) []string {
	dirs := []string{Resolve(d.path), Resolve(d.dir.Path())}
	for _, dir := range append([]string{"."}, trees...) {
		if abs, err := filepath.Abs(filepath.Join(dir, ".millhand", "runs")); err == nil {
			dirs = append(dirs, Resolve(abs))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Leave keeps a worktree when the run ends.
func (d *Dir) Leave(tree string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, tree)
}

// removeWork removes the run's private directory, or everything in it but the
// worktrees that are left. Without its lock no later run sweeps it.
func (d *Dir) removeWork() {
	if d.work == "" {
		return
	}
	if len(d.left) == 0 {
		os.RemoveAll(d.work)
		return
	}
	entries, _ := os.ReadDir(d.work)
	for _, e := range entries {
		if path := filepath.Join(d.work, e.Name()); e.Name() != "trees" && !slices.Contains(d.left, path) {
			os.RemoveAll(path)
		}
	}
}

// written lists what a run writes into its report directory.
func written() []string {
	return []string{"events.jsonl", "report.json", "junit.xml", "summary.md", "failed.txt", "sessions", "patches", "outputs", "repos"}
}

// setAside moves what an earlier run wrote into a directory of its own. Without
// a run's events, what has the name of something that a run writes is somebody
// else's, and is neither moved nor written over.
func setAside(dir *reportdir.Dir, id string) error {
	there := slices.DeleteFunc(written(), func(name string) bool { return !dir.Exists(name) })
	switch {
	case len(there) == 0:
		return nil
	case !slices.Contains(there, "events.jsonl"):
		return fmt.Errorf("the report directory %s holds %s, which no run of millhand wrote: give another --report-dir; nothing was run", dir.Path(), strings.Join(there, ", "))
	}
	aside := "earlier/before-" + id
	err := dir.Mkdir(aside)
	for _, name := range there {
		if err == nil {
			err = dir.Rename(name, aside+"/"+name)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the earlier run in %s: %w", dir.Path(), err)
	}
	return nil
}

// Close releases the directory, and removes the private one and, if nothing was
// run, what Claim has made.
func (d *Dir) Close() {
	if d.events != nil {
		d.events.Close()
	}
	if d.dir != nil {
		d.dir.Close()
	}
	if d.working != nil {
		d.working.Close()
	}
	if d.reserve != nil {
		d.reserve.Close()
	}
	d.removeWork()
	if d.lock == nil {
		return
	}
	if d.made && d.events == nil { // nothing was run
		os.RemoveAll(d.path)
	}
	d.lock.Close()
}
