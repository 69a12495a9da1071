package rundir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// Reopen locks the report directory of a run that is resumed. The caller closes the result.
func Reopen(ctx context.Context, path string, c clock.Clock) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the report directory %s: %w", path, err)
	}
	d := &Dir{path: abs, now: c.Now, resumed: true}
	base, below := splitOwn(abs)
	if d.dir, err = files.Make(base, below, false); err != nil {
		return nil, fmt.Errorf("%w; nothing was run", err)
	}
	id, private := privateOf(abs)
	if private == "" {
		id = describeRun(abs, c.Now()).ID
	}
	if d.lock, err = TakeLock(ctx, d.path, id, c); err != nil {
		d.dir.Close()
		return nil, err
	}
	failpoint.Hit(failpoint.ResumeLocked, "")
	d.dir.RemoveTemporary(append(written(), manifestFile))
	if private != "" {
		if err := d.fetch(private); err != nil {
			d.lock.leave() // the next process finds the private directory by it
			d.lock = nil
			d.Close()
			return nil, fmt.Errorf("move the reports of the killed run from %s: %w; nothing was run", private, err)
		}
	}
	return d, nil
}

// privateOf returns the private directory in which a killed run left its reports, for a
// report directory in a tree that jobs change, and the run's ID; "" for none.
func privateOf(dir string) (id, private string) {
	f, err := openRegular(filepath.Join(dir, lockFile), os.O_RDONLY)
	if err != nil || IsRun(dir) {
		return "", ""
	}
	defer f.Close()
	id, ok := strings.CutPrefix(readHolder(f).Holder, holderOf(""))
	if !ok {
		return "", ""
	}
	work := workDir(id)
	// The names are predictable: in a shared TMPDIR somebody else may have created them.
	if left := filepath.Join(work, privateReports); isOwn(work) && isOwn(left) && IsRun(left) {
		return id, left
	}
	if left := rescuedReports(work); isOwn(left) && IsRun(left) {
		return id, left
	}
	return "", ""
}

// Resumable reports whether a directory has a run that can be resumed.
func Resumable(dir string) bool {
	_, private := privateOf(dir)
	return IsRun(dir) || private != ""
}

// fetch moves the files of a killed run from its private directory.
func (d *Dir) fetch(private string) error {
	from, err := files.Open(private)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := moveRun(from, d.dir, filesOf(from)); err != nil {
		return err
	}
	from.RemoveTemporary(append(written(), manifestFile))
	return os.Remove(private)
}

// Events calls fn for every event of a run that is resumed, before Begin. torn is the length
// in bytes of an incomplete last event, which Begin removes.
func (d *Dir) Events(fn func(event.Event) error) (torn int, err error) {
	f, err := d.dir.FS().Open("events.jsonl")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var chain *event.Chain
	torn, err = event.ReadLines(f, func(e event.Event, line []byte) error {
		if e.Seq == 1 && e.Run != nil && e.Run.Evidence != nil {
			chain = &event.Chain{}
		}
		if chain != nil {
			chain.Add(e, event.LineHash(line))
		}
		return fn(e)
	})
	if err != nil {
		return 0, err
	}
	d.chain = chain
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	d.valid = info.Size() - int64(torn)
	failpoint.Hit(failpoint.ResumeRead, "")
	return torn, nil
}

// moveTo moves the files of an earlier process to the directory where the run writes now.
func (d *Dir) moveTo(live *files.Dir) error {
	return d.dir.MoveTo(live, filesOf(d.dir))
}
