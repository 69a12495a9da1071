package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/view"
)

// The free disk space that runs need for worktrees and reports, in bytes.
const (
	lowDiskSpace = 1 << 30
	noSpace      = 64 << 20
)

// directory checks whether a directory is writable or can be created, and the free
// space of its disk. It leaves no files. own is the outermost directory on its path that
// belongs to millhand, whose permissions can be repaired; "" for none.
func directory(name, dir, own, fix string) Check {
	c := Check{Name: name, Status: OK}
	at := dir
	for {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	err := machine.TryWrite(at)
	var st unix.Statfs_t
	if err == nil {
		err = unix.Statfs(at, &st)
	}
	if err != nil {
		c.Status, c.Found, c.Fix, c.exit = Missing, fmt.Sprintf("%s is not writable: %v", dir, err), fix, event.ExitFailed
		if pathtree.Within(at, own) {
			c.offerPermissions(at)
		}
		return c
	}
	free := uint64(st.Bavail) * uint64(st.Bsize) //nolint:gosec,unconvert // neither is negative; the types differ between systems
	c.Found = fmt.Sprintf("%s, writable, %s free", dir, figures.Bytes(free))
	switch {
	case free < noSpace:
		c.Status, c.Fix, c.exit = Missing, "free space on that disk", event.ExitFailed
	case free < lowDiskSpace:
		c.Status, c.Fix = Warning, "free space on that disk: worktrees and builds are written there"
	}
	return c
}

// offerPermissions adds how to make a directory of millhand writable: by its owner, which
// --fix can do, or by an administrator.
func (c *Check) offerPermissions(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok:
	case int(st.Uid) != os.Geteuid():
		c.Fix = fmt.Sprintf("it belongs to user id %d: sudo chown -R %d %s; or %s", st.Uid, os.Geteuid(), view.Quote(dir), c.Fix)
	case mode&0o700 != 0o700:
		c.Fix = fmt.Sprintf("chmod u+rwx %s, as --fix does; or %s", view.Quote(dir), c.Fix)
		c.repair = func() (string, error) { return "made " + dir + " writable", os.Chmod(dir, mode|0o700) }
	}
}

// temporaryFiles checks the directory for temporary files.
func temporaryFiles(w world.World, tmp string) Check {
	const fix = "set TMPDIR to a directory that you can write to"
	c := directory("temporary files", tmp, "", fix)
	if c.exit != event.ExitOK {
		return c
	}
	if err := machine.Check(w); err != nil {
		c.Status, c.exit, c.Found, c.Fix = Missing, event.ExitFailed, strings.TrimSuffix(err.Error(), "; nothing was run"), ""
	}
	if _, err := os.Lstat(tmp); errors.Is(err, os.ErrNotExist) && filepath.IsAbs(tmp) {
		c.Found, c.Fix = tmp+" does not exist", fmt.Sprintf("mkdir -p %s, as --fix does; or %s", view.Quote(tmp), fix)
		c.repair = func() (string, error) { return "created " + tmp, os.MkdirAll(tmp, 0o700) }
	}
	return c
}

// dataDirectories checks the directories of data between runs. Few runs require them.
func dataDirectories(w world.World) []Check {
	const fix = "set MILLHAND_CACHE_DIR to a directory that you can write to"
	dir := w.CacheDir()
	cache := directory("mirrors", dir, dir, fix)
	below, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, sub := range below { // a run of another user may have created it
		if info, err := os.Stat(sub); err == nil && info.IsDir() && cache.Status == OK {
			if c := directory(cache.Name, sub, dir, fix); c.Status == Missing {
				cache = c
			}
		}
	}
	all := []Check{cache}
	if dir, err := w.StateDir(); err == nil {
		all = append(all, directory("daily budgets", dir, dir, "set XDG_STATE_HOME to a directory that you can write to"))
	}
	for i, c := range all {
		if c.Status == Missing {
			all[i].Status, all[i].exit = Warning, event.ExitOK
		}
	}
	return all
}

// killedRuns checks whether killed runs have left something in the directory for temporary files.
func killedRuns(w world.World, tmp string) Check {
	c := Check{Name: "killed runs", Status: OK, Found: "left nothing in " + tmp}
	tmp, err := filepath.EvalSymlinks(tmp)
	if err != nil {
		return c // then nothing is left
	}
	var left []string
	for _, l := range rundir.Leftovers(tmp) {
		left = append(left, l.String())
	}
	if len(left) == 0 {
		return c
	}
	c.Status, c.Found = Warning, strings.Join(left, "; ")
	c.Fix = "the next run removes it, as --fix does"
	c.repair = func() (string, error) {
		removed, err := rundir.Sweep(tmp, nil, w.Now())
		var done []string
		for _, l := range removed {
			done = append(done, "removed "+l.String())
		}
		return strings.Join(done, "; "), err
	}
	return c
}

// fix repairs what it can, and returns the result of another examination.
func (e *Examination) fix(examine func() (*Examination, error)) (*Examination, error) {
	type result struct {
		done string
		err  error
	}
	results := map[string]result{}
	for _, c := range e.Checks {
		if c.repair != nil {
			done, err := c.repair()
			results[c.Name] = result{done, err}
		}
	}
	if len(results) == 0 {
		return e, nil
	}
	after, err := examine()
	if err != nil {
		return nil, err
	}
	for i := range after.Checks {
		c := &after.Checks[i]
		r, ok := results[c.Name]
		switch {
		case !ok:
		case r.err != nil:
			c.Fix = fmt.Sprintf("not fixed: %v; %s", r.err, c.Fix)
		case c.Status == OK:
			c.Status, c.Found = Fixed, cmp.Or(r.done, c.Found)
		default:
			c.Found += "; " + r.done
		}
	}
	return after, nil
}
