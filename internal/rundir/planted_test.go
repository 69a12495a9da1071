package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The private directory of a run is named after its id, which others know when it is resumed.
func TestAPlantedNameDoesNotStopAResumedRun(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"file":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"fifo":     func(path string) error { return unix.Mkfifo(path, 0o600) },
		"symlink":  func(path string) error { return os.Symlink(filepath.Dir(path), path) },
		"dangling": func(path string) error { return os.Symlink("missing", path) },
		"directory": func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "x"), 0o700), foreign(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			if err := plant(workDir("r-00000001")); err != nil {
				t.Fatal(err)
			}
			d := &Dir{now: time.Now, resumed: true}
			if err := d.makeWork("r-00000001"); err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if d.work == workDir("r-00000001") || !privateName.MatchString(filepath.Base(d.work)) {
				t.Errorf("the run uses %s", d.work)
			}
		})
	}
}

// Reports that somebody else has put where a killed run would have left them are not resumed.
func TestPlantedReportsAreNotResumed(t *testing.T) {
	const id = "20260101-000000-00000001"
	run := func(dir string) error {
		return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("{}\n"), 0o644))
	}
	for name, c := range map[string]struct {
		plant func(work, victim string) error
		own   bool
		root  bool
	}{
		"own":         {func(work, _ string) error { return run(filepath.Join(work, privateReports)) }, true, false},
		"own rescued": {func(work, _ string) error { return run(rescuedReports(work)) }, true, false},
		"foreign": {func(work, _ string) error {
			return errors.Join(run(filepath.Join(work, privateReports)), foreign(work))
		}, false, true},
		"foreign rescued": {func(work, _ string) error {
			return errors.Join(run(rescuedReports(work)), foreign(rescuedReports(work)))
		}, false, true},
		"symlink": {func(work, victim string) error { return os.Symlink(victim, work) }, false, false},
		"symlink to reports": {func(work, victim string) error {
			return errors.Join(os.Mkdir(work, 0o700), os.Symlink(filepath.Join(victim, privateReports), filepath.Join(work, privateReports)))
		}, false, false},
		"symlink instead of them": {func(work, victim string) error {
			return os.Symlink(filepath.Join(victim, privateReports), rescuedReports(work))
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root can create files of others")
			}
			t.Setenv("TMPDIR", t.TempDir())
			victim, reports := t.TempDir(), t.TempDir()
			if err := run(filepath.Join(victim, privateReports)); err != nil {
				t.Fatal(err)
			}
			lock, err := TakeLock(t.Context(), reports, holderOf(id), at(time.Now))
			if err != nil {
				t.Fatal(err)
			}
			lock.leave()
			if err := c.plant(workDir(id), victim); err != nil {
				t.Fatal(err)
			}
			if got := Resumable(reports); got != c.own {
				t.Errorf("resumable: %t", got)
			}
		})
	}
}

// foreign gives a directory to another user, if this one may.
func foreign(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 65534, 65534))
	})
}
