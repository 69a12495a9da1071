// Package rundir owns the report directory of a run: its lock, the files of earlier runs, writing events and reports,
// and listing and removing saved runs. It seals the directory of a run with evidence, and has its Statement signed
// ([Dir.Prove], package evidence). [Sweep] removes what killed runs have left in TMPDIR and in worktrees, and ends their
// processes. Package files is the open directory itself and knows nothing about runs. It decides nothing about the run,
// and encodes no report itself: packages below report do.
package rundir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report/evidence"
)

// Dir is a run's report directory, locked by the run.
//
// If it is in a tree that jobs change in place, where commands could change it, the
// reports are written to the run's private directory and moved after the last
// command has ended.
type Dir struct {
	path string // absolute path of the reports
	now  func() time.Time
	lock *Lock
	made bool       // created by this run
	dir  *files.Dir // where files are written
	tree string     // tree that the reports are moved into at the end, without symlinks; "" if they are not moved
	rel  string     // path in the tree, as of the start of the run

	resumed  bool   // an earlier process of the run has written here
	valid    int64  // length of its complete events in bytes
	manifest []byte // see KeepManifest

	proved bool         // the run leaves evidence
	key    *signing.Key // that signs it; nil for none
	chain  *event.Chain // of the events of earlier processes; nil for none

	copy    func(line []byte, durable bool) error // see CopyEvents
	events  *os.File                              // set by Begin
	reserve io.Closer                             // reserved disk space for reports
	gaveUp  bool                                  // saved outputs were removed to free space

	mu      sync.Mutex
	left    []string // worktrees with changes that are not saved elsewhere
	work    string   // private directory for worktrees
	working *Lock

	discarding sync.Mutex // held while a directory is removed
	remains    error      // of removeWork
}

// Claim locks the report directory at path, which is relative to dir, and creates it if necessary.
// The default directory (an empty path) is unique to the run and created by Begin. The caller
// closes the result.
func Claim(ctx context.Context, dir, path, id string, c clock.Clock) (d *Dir, err error) {
	if !filepath.IsAbs(dir) && !filepath.IsAbs(path) {
		return nil, errors.New("create the report directory: the current directory is unknown")
	}
	if path == "" {
		return &Dir{path: filepath.Join(dir, ".millhand", "runs", id), now: c.Now}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	d = &Dir{path: filepath.Clean(path), now: c.Now}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		d.made = true
	}
	base, below := splitOwn(d.path)
	own, err := files.MakeOwn(base, 0o755)
	if err != nil {
		return nil, fmt.Errorf("create the report directory: %w; nothing was run", err)
	}
	own.Close()
	if d.dir, err = files.Make(base, below, false); err != nil {
		return nil, fmt.Errorf("%w; nothing was run", err)
	}
	d.lock, err = TakeLock(ctx, d.path, id, c)
	return d, err
}

// splitOwn splits a report directory before the first .millhand in its path, below
// which a repository or an agent may have created symlinks. Without a .millhand, base
// is the entire path.
func splitOwn(dir string) (base, below string) {
	const own = "/.millhand/"
	at := strings.Index(filepath.ToSlash(dir)+"/", own)
	if at < 0 {
		return dir, "."
	}
	return dir[:at+1], dir[at+1:]
}

// claimDefault creates the default report directory. Agents of earlier runs may have
// changed its parents, so no symlinks are followed.
func (d *Dir) claimDefault(id string) (err error) {
	own := filepath.Dir(filepath.Dir(d.path))
	if d.dir, err = files.Make(filepath.Dir(own), filepath.Join(".millhand", "runs", id), false); err != nil {
		return fmt.Errorf("%w: set --report-dir; nothing was run", err)
	}
	d.made = true
	if above, err := files.Enter(filepath.Dir(own), ".millhand"); err == nil {
		defer above.Close()
		if f, err := above.Create(".gitignore"); err == nil { // git ignores the runs; optional
			f.WriteString("*\n") //nolint:errcheck // see above
			f.Close()
		}
	}
	d.lock, err = lockNew(d.path, id, d.now())
	return err
}

// The manifest of a run that has none, which KeepManifest saves. Other files of the name are the
// user's.
const (
	manifestFile = "manifest.yaml"
	manifestHead = "# The manifest of millhand run -p. Paths are relative to the directory in which it was started.\n"
)

// KeepManifest makes Begin save the manifest of a run without a manifest file.
func (d *Dir) KeepManifest(manifest []byte) { d.manifest = manifest }

// Manifest returns the manifest that KeepManifest saved in an earlier process of the run.
func (d *Dir) Manifest() ([]byte, error) { return fs.ReadFile(d.dir.FS(), manifestFile) }

// SavedManifest returns the manifest that a run without a manifest file saved in its report
// directory.
func SavedManifest(dir string) ([]byte, error) {
	text, err := fs.ReadFile(os.DirFS(dir), manifestFile)
	return bytes.TrimPrefix(text, []byte(manifestHead)), err
}

// savedManifest reports whether the directory has a manifest that was saved by KeepManifest.
func savedManifest(dir *files.Dir) bool {
	if info, err := fs.Stat(dir.FS(), manifestFile); err != nil || !info.Mode().IsRegular() { // to open a pipe blocks
		return false
	}
	f, err := dir.FS().Open(manifestFile)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(manifestHead))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == manifestHead
}

// Begin creates the directories and files of a run. Files of an earlier run are moved
// aside. trees are those that jobs change in place.
func (d *Dir) Begin(id string, level sandbox.Level, trees []string, jobs int) error {
	if d.lock == nil {
		if err := d.claimDefault(id); err != nil {
			return err
		}
	}
	if !d.resumed {
		if err := setAside(d.dir, id); err != nil {
			return err
		}
	}
	if d.manifest != nil && d.dir.Exists(manifestFile) {
		return fmt.Errorf("report directory %s already contains %s, not created by millhand: choose another --report-dir; nothing was run", d.path, manifestFile)
	}
	if err := d.makeWork(id); err != nil {
		return fmt.Errorf("create a directory for worktrees: %w; nothing was run", err)
	}
	if d.tree = d.exposed(level, trees); d.tree != "" {
		d.rel, _ = relative(d.tree, d.path)
		if _, inside := relative(d.tree, d.work); inside {
			return fmt.Errorf("TMPDIR (%s) is in %s, which jobs change in place: set TMPDIR to a directory outside of it; nothing was run", filepath.Dir(d.work), d.tree)
		}
		if err := d.usePrivateDir(); err != nil {
			return fmt.Errorf("create a directory for the reports: %w; nothing was run", err)
		}
	}
	var err error
	if d.reserve, err = reserve(d.dir, jobs); err != nil {
		return fmt.Errorf("%w; nothing was run", err)
	}
	if d.manifest != nil {
		if err := writeText(d.dir, manifestFile, append([]byte(manifestHead), d.manifest...)); err != nil {
			return fmt.Errorf("%w; nothing was run", err)
		}
	}
	if err = d.openEvents(); err != nil {
		return fmt.Errorf("create events.jsonl: %w; nothing was run", err)
	}
	d.prune()
	return nil
}

// Disk space reserved for reports, in bytes: per run and per job, at most half of the
// free space. A run requires minRun and minJob for each job, but no more than maxReserve.
const (
	minRun     = 64 << 10
	minJob     = 32 << 10
	reserveRun = 256 << 10
	reserveJob = 64 << 10
	maxReserve = 16 << 20
)

// reserve reserves disk space for the reports, in case jobs fill the disk.
func reserve(dir *files.Dir, jobs int) (io.Closer, error) {
	free, want := dir.Free(), int64(min(reserveRun+jobs*reserveJob, maxReserve))
	if least := int64(min(minRun+jobs*minJob, maxReserve)); free >= 0 && free < least {
		return nil, fmt.Errorf("%s: only %s free on the disk of the report directory, and %s required for reports of %s: free space, or choose another --report-dir", dir.Path(), figures.Bytes(free), figures.Bytes(least), figures.Count(jobs, "job"))
	}
	if free >= 0 {
		want = min(want, free/2)
	}
	return dir.Reserve(want)
}

// makeWork creates the run's private directory. It is locked before it gets its name, so
// that other runs never take it for that of a killed one.
func (d *Dir) makeWork(id string) error {
	tmp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	work := filepath.Join(tmp, filepath.Base(workDir(id)))
	if d.resumed {
		if _, err := sweepOne(work); err != nil {
			return err
		}
	}
	unlocked, err := os.MkdirTemp(tmp, unlockedName)
	if err != nil {
		return err
	}
	if d.working, err = lockNew(unlocked, id, d.now()); err != nil {
		return errors.Join(err, os.RemoveAll(unlocked))
	}
	err = os.Rename(unlocked, work)
	if err != nil { // worktrees that this run left before it was resumed, or something of somebody else, who knows its id
		work = filepath.Join(tmp, fmt.Sprintf("millhand-%08x", rand.Uint32()))
		err = os.Rename(unlocked, work)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(unlocked))
	}
	d.work = work
	return letThrough(work)
}

// letThrough lets other users search a private directory of root, whose commands can run as another user.
// Only directories of commands can be searched below it.
func letThrough(work string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.Mkdir(filepath.Join(work, "trees"), 0o700), os.Chmod(work, 0o711))
}

// workDir returns the path of a run's private directory. Its length is the same in every
// run, so that outputs with the path have the same size.
func workDir(id string) string {
	return filepath.Join(os.TempDir(), "millhand-"+id[strings.LastIndexByte(id, '-')+1:])
}

// WorktreeDir returns the directory of worktrees with --keep: in the report directory,
// unless that is moved at the end. It has none of an earlier process, which stay in theirs.
func (d *Dir) WorktreeDir() (string, error) {
	if d.tree == "" {
		dir := "work"
		for n := 2; d.dir.Exists(filepath.Join(dir, "trees")); n++ {
			dir = filepath.Join("work", strconv.Itoa(n))
		}
		return filepath.Join(d.path, dir), d.dir.Mkdir(dir)
	}
	dir, err := os.MkdirTemp(filepath.Dir(d.work), "millhand-kept-")
	if err == nil {
		err = letThrough(dir)
	}
	return dir, err
}

// Private lists the report directories, without symlinks: those of this run, and the
// default directories in the directory that the run is started in and in trees that are changed without a worktree.
func (d *Dir) Private(in string, trees []string) []string {
	dirs := []string{Resolve(d.path), Resolve(d.dir.Path())}
	trees = append([]string{in}, trees...)
	slices.Sort(trees) // those of all jobs are often the same few
	for _, dir := range slices.Compact(trees) {
		dirs = append(dirs, Resolve(filepath.Join(dir, ".millhand", "runs")))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Leave marks a worktree that is not removed when the run ends.
func (d *Dir) Leave(tree string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, tree)
}

// Discard moves a directory of the run's private one away and removes it concurrently, after those
// before: not more than one remains while jobs make others. Close waits for it.
func (d *Dir) Discard(dir string) error {
	aside, err := os.MkdirTemp(d.work, "discarded-")
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(aside, "tree")); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	d.discarding.Lock()
	go func() {
		defer d.discarding.Unlock()
		sharedfile.RemoveAll(aside) //nolint:errcheck // Close tries again
	}()
	return nil
}

// removeWork removes the run's private directory, or everything in it except the
// worktrees marked by Leave. Without the lock no later run sweeps these.
func (d *Dir) removeWork() error {
	if d.work == "" {
		return nil
	}
	d.discarding.Lock()
	defer d.discarding.Unlock()
	if len(d.left) == 0 {
		return removeTree(d.work)
	}
	os.Remove(filepath.Join(d.work, lockFile))
	entries, _ := os.ReadDir(d.work)
	var errs []error
	for _, e := range entries {
		if path := filepath.Join(d.work, e.Name()); e.Name() != "trees" && !slices.Contains(d.left, path) {
			errs = append(errs, removeTree(path))
		}
	}
	return errors.Join(errs...)
}

// openEvents creates the file of the events. Of a run that is resumed it removes an
// incomplete last line.
func (d *Dir) openEvents() (err error) {
	if !d.resumed {
		d.events, err = d.dir.Create("events.jsonl")
		return err
	}
	if d.events, err = d.dir.Append("events.jsonl"); err != nil {
		return err
	}
	if err := d.events.Truncate(d.valid); err != nil {
		return err
	}
	failpoint.Hit(failpoint.ResumeAppending, "")
	return nil
}

// written lists the files and directories that a run writes to its report directory.
func written() []string {
	return []string{"events.jsonl", "report.json", "junit.xml", "summary.md", "failed.txt", "report.html", findingsFile, "sessions", "patches", "outputs", "repos", "snapshots", "replaced", evidence.StatementFile, evidence.SignatureFile, evidence.EnvelopeFile, evidence.TestsFile}
}

// filesOf lists the files and directories that a run has written to a directory, with the manifest that
// it saved.
func filesOf(dir *files.Dir) []string {
	existing := slices.DeleteFunc(written(), func(name string) bool { return !dir.Exists(name) })
	if savedManifest(dir) {
		existing = append(existing, manifestFile)
	}
	return existing
}

// Unfinished returns what to tell of a run in the directory that was killed, and that the
// run with an id moves aside; "" for no such run.
func (d *Dir) Unfinished(id string) string {
	if d.lock == nil || d.resumed || !IsRun(d.path) {
		return ""
	}
	run := Saved{Dir: d.path, Outcome: Unfinished}
	if err := run.readEvents(); err != nil || run.Outcome != Unfinished || run.PlanHash == "" {
		return ""
	}
	return fmt.Sprintf("%s has an unfinished run (%s): millhand run --resume %[1]s continues it, once this run has started with %[1]s/%[3]s", d.path, run.ID, earlierDir(id))
}

func earlierDir(id string) string { return "earlier/before-" + id }

// setAside moves the files of an earlier run to a directory below earlier/. Without
// events.jsonl, existing files were not created by millhand, and it returns an error.
func setAside(dir *files.Dir, id string) error {
	existing := slices.DeleteFunc(written(), func(name string) bool { return !dir.Exists(name) })
	switch {
	case len(existing) == 0:
		return nil
	case !slices.Contains(existing, "events.jsonl"):
		return fmt.Errorf("report directory %s already contains %s, not created by millhand: choose another --report-dir; nothing was run", dir.Path(), strings.Join(existing, ", "))
	}
	if savedManifest(dir) {
		existing = append(existing, manifestFile)
	}
	aside := earlierDir(id)
	err := dir.Mkdir(aside)
	for _, name := range existing {
		if err == nil {
			err = dir.Rename(name, aside+"/"+name)
		}
	}
	if err != nil {
		return fmt.Errorf("move the earlier run in %s: %w", dir.Path(), err)
	}
	return nil
}

// Close releases the directory and removes the private one. If nothing was run, it
// also removes the report directory that Claim created.
func (d *Dir) Close() {
	if d.events != nil {
		d.events.Close()
	}
	if d.dir != nil {
		d.dir.Close()
	}
	if d.reserve != nil {
		d.reserve.Close()
	}
	d.remains = d.removeWork()
	if d.working != nil { // until now, so that no other run removes a marked worktree
		d.working.Close()
	}
	if d.lock == nil {
		return
	}
	if d.made && d.events == nil { // nothing was run
		os.RemoveAll(d.path)
	}
	d.lock.Close()
	failpoint.Hit(failpoint.LockReleased, "")
}

// Remains returns why files of the private directory remain after Close; nil if none do.
func (d *Dir) Remains() error {
	if d.remains == nil {
		return nil
	}
	return fmt.Errorf("remove the worktrees of the run: %w", d.remains)
}
