package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/filelock"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tools/outputs"
)

// OutputRetention is the retention time of tool outputs that were too long for a model.
const OutputRetention = 7 * 24 * time.Hour

// prune removes old outputs of earlier runs, in this and in the working directory.
func (d *Dir) prune() {
	for base, pattern := range map[string]string{".": filepath.Join(".millhand", "runs", "*", "outputs"), d.path: filepath.Join("earlier", "*", "outputs")} {
		found, _ := filepath.Glob(filepath.Join(base, pattern))
		for _, saved := range found {
			rel, err := filepath.Rel(base, saved)
			if err != nil {
				continue
			}
			// The next run retries what can't be removed.
			if dir, err := files.Enter(base, rel); err == nil {
				outputs.Prune(dir, d.now().Add(-OutputRetention)) //nolint:errcheck // see above
				dir.Close()
			}
		}
	}
}

// privateName is the name of a private directory: it ends as the run's id does.
var privateName = regexp.MustCompile(`^millhand-[0-9a-f]{8}$`)

// unlockedName is the start of the names of private directories that are not locked yet.
const unlockedName = "millhand-new-"

// settled is the age from which a directory that was never locked is a leftover.
const settled = time.Hour

// Leftover is what a killed run left in its private directory.
type Leftover struct {
	Dir       string
	Holder    string // for example "run ID"; "" if unknown
	Processes int    // that were killed
	Bytes     int64
}

// String describes what a killed run left.
func (l Leftover) String() string {
	processes := ""
	if l.Processes > 0 {
		processes = fmt.Sprintf("; processes killed: %d", l.Processes)
	}
	return fmt.Sprintf("%s, left by %s, which was killed (%s)%s",
		printable.Line(l.Dir, printable.Width), printable.Line(cmp.Or(l.Holder, "a run"), printable.Width), figures.Bytes(l.Bytes), processes)
}

// Sweep removes what killed runs left: their private directories in tmp and those of trees,
// which are worktrees of any repositories, with the registrations of their worktrees, and
// the processes of their commands. Reports in them are moved to tmp. It removes nothing of
// a run that holds its lock, or of another user. What can't be removed is retried by the
// next run.
func Sweep(tmp string, trees []string, now time.Time) ([]Leftover, error) {
	var removed []Leftover
	var errs []error
	for _, dir := range privateDirs(tmp, trees) {
		l, err := sweepOne(dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s of a killed run: %w", dir, err))
		} else if l.Dir != "" {
			removed = append(removed, l)
		}
	}
	sweepUnlocked(tmp, now)
	return removed, errors.Join(errs...)
}

// Leftovers lists what Sweep would remove, without its processes.
func Leftovers(tmp string) []Leftover {
	var found []Leftover
	for _, dir := range privateDirs(tmp, nil) {
		if lock, by, err := abandoned(dir); err == nil && lock != nil {
			lock.Close()
			found = append(found, Leftover{Dir: dir, Holder: by.Holder, Bytes: DiskUse(dir)})
		}
	}
	return found
}

// privateDirs lists the private directories of this user's runs.
func privateDirs(tmp string, trees []string) []string {
	found, _ := filepath.Glob(filepath.Join(tmp, "millhand-*"))
	for _, tree := range trees {
		if above := filepath.Dir(tree); filepath.Base(above) == "trees" {
			found = append(found, filepath.Dir(above))
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(dir string) bool {
		return !privateName.MatchString(filepath.Base(dir)) || !isOwn(dir)
	})
}

// isOwn reports whether a path is a directory of this user: anybody can create one in a
// shared TMPDIR.
func isOwn(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// IsGone reports whether a worktree was in a private directory that is missing.
func IsGone(tree string) bool {
	above := filepath.Dir(tree)
	dir := filepath.Dir(above)
	_, err := os.Lstat(dir)
	return filepath.Base(above) == "trees" && privateName.MatchString(filepath.Base(dir)) && errors.Is(err, fs.ErrNotExist)
}

// abandoned locks a private directory whose run was killed; the lock is nil if a process
// holds it, or if the directory was left on purpose, which has none.
func abandoned(dir string) (*os.File, holder, error) {
	f, err := openRegular(filepath.Join(dir, lockFile), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, holder{}, nil
	}
	if err != nil {
		return nil, holder{}, err
	}
	err = filelock.Try(f, filelock.Exclusive)
	there := false
	if err == nil {
		there, err = stillThere(f)
	}
	if errors.Is(err, filelock.ErrHeld) {
		err = nil
	}
	if err != nil || !there {
		f.Close()
		return nil, holder{}, err
	}
	return f, readHolder(f), nil
}

// sweepOne removes a private directory; the zero value means that it may not.
func sweepOne(dir string) (Leftover, error) {
	if !isOwn(dir) {
		return Leftover{}, nil
	}
	lock, by, err := abandoned(dir)
	if lock == nil || err != nil {
		return Leftover{}, err
	}
	defer lock.Close()
	l := Leftover{Dir: dir, Holder: by.Holder}
	if l.Processes, err = proc.KillStrays(dir); err != nil {
		return l, err
	}
	if err := rescue(dir); err != nil {
		return l, err
	}
	l.Bytes = DiskUse(dir)
	registered := registrations(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		if e.Name() != lockFile { // removed last, so that the next run retries what remains
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return l, err
			}
		}
	}
	for _, git := range registered {
		if err := gitdir.RemoveRegistration(git); err != nil {
			return l, err
		}
		os.Remove(filepath.Dir(git))
	}
	return l, removeTree(dir)
}

// registrations lists the git directories of the worktrees in a private directory. An agent
// can have changed the pointer to one, which therefore must lead back.
func registrations(dir string) []string {
	pointers, _ := filepath.Glob(filepath.Join(dir, "trees", "*", ".git"))
	var found []string
	for _, pointer := range pointers {
		git, err := gitdir.ReadPointer(pointer, "gitdir:")
		if err != nil || filepath.Base(filepath.Dir(git)) != "worktrees" {
			continue
		}
		if back, err := gitdir.ReadPointer(filepath.Join(git, "gitdir"), ""); err == nil && back == pointer {
			found = append(found, git)
		}
	}
	return found
}

// sweepUnlocked removes private directories of runs that were killed before they locked
// them: these contain nothing else. It also removes the directories of probes of the
// sandbox.
func sweepUnlocked(tmp string, now time.Time) {
	found, _ := filepath.Glob(filepath.Join(tmp, unlockedName+"*"))
	for _, dir := range found {
		if info, err := os.Lstat(dir); err == nil && isOwn(dir) && now.Sub(info.ModTime()) >= settled {
			os.Remove(filepath.Join(dir, lockFile))
			os.Remove(dir)
		}
	}
	probes, _ := filepath.Glob(filepath.Join(tmp, sandbox.ProbeName+"*"))
	for _, dir := range probes {
		if info, err := os.Lstat(dir); err == nil && isOwn(dir) && now.Sub(info.ModTime()) >= settled {
			removeTree(dir) //nolint:errcheck // a later run retries it
		}
	}
}

// rescue moves the reports out of the private directory of a killed run.
func rescue(work string) error {
	if _, err := os.Lstat(filepath.Join(work, privateReports)); err != nil {
		return nil //nolint:nilerr // no reports
	}
	_, err := keepReports(work)
	return err
}
