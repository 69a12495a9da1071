package rundir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/report"
)

// Outcomes of saved runs that did not end.
const (
	Running    event.Outcome = "running"    // in progress
	Unfinished event.Outcome = "unfinished" // killed
	Damaged    event.Outcome = "damaged"    // its files can't be read
)

// Saved describes a saved run. It is read from the first and last event, and the start
// of the report.
type Saved struct {
	ID        string        `json:"id"` // name of the directory if the id can't be read
	Dir       string        `json:"dir"`
	StartedAt time.Time     `json:"started_at"` // of a damaged run: time of its last write
	ElapsedMS *int64        `json:"elapsed_ms"`
	Outcome   event.Outcome `json:"outcome"`
	ExitCode  *event.Exit   `json:"exit_code"`
	Jobs      int           `json:"jobs"`
	Passed    *int          `json:"passed"`   // nil without a report
	CostUSD   *money.USD    `json:"cost_usd"` // nil without a report, or if unknown
	PlanHash  string        `json:"plan_hash"`
	Manifest  []string      `json:"manifest"`
	Damage    string        `json:"damage,omitempty"` // read error of a damaged run

	current bool // the latest run of a reused report directory
	held    bool // a process holds the lock of its directory
	orphan  bool // that is probably a child of the run's process, which was killed
}

// List returns the runs in a directory, newest first. For a report directory these are
// its own run and the earlier runs in it.
func List(dir string, now time.Time) ([]Saved, error) {
	runs := []Saved{}
	parent := dir
	if isReportDir(dir) {
		if IsRun(dir) {
			r := describeRun(dir, now)
			r.current = true
			runs = append(runs, r)
		}
		parent = filepath.Join(dir, "earlier")
	}
	var entries []os.DirEntry
	if parent == dir || isDir(parent) {
		var err error
		if entries, err = os.ReadDir(parent); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if path := filepath.Join(parent, e.Name()); e.IsDir() && IsRun(path) {
			runs = append(runs, describeRun(path, now))
		}
	}
	slices.SortStableFunc(runs, func(a, b Saved) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Dir, a.Dir))
	})
	return runs, nil
}

// Killed reports whether a run that seems to be in progress was killed: its process has ended, and a child that has not
// executed its program yet holds the lock for a moment. A process of another container seems so, too: then
// [TakeLock] fails.
func (r Saved) Killed() bool { return r.Outcome == Running && r.orphan }

// Removable reports whether a run may be removed: it is not the latest run of a reused
// report directory, and no process holds its lock.
func (r Saved) Removable() bool { return !r.current && !r.held }

// isReportDir reports whether a directory is a report directory.
func isReportDir(dir string) bool {
	return IsRun(dir) || isDir(filepath.Join(dir, "earlier"))
}

// isDir reports whether a path is a directory, not a symlink to one.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// OpenEvents opens the events of a run. The directory may be somebody else's: it follows no symlink there, and does not
// wait for a FIFO.
func OpenEvents(dir string) (*os.File, error) {
	return files.OpenRegular(filepath.Join(dir, "events.jsonl"), os.O_RDONLY, 0)
}

// OpenFile opens a file of a run if it is regular: opening a FIFO waits.
func OpenFile(in fs.FS, name string) (fs.File, error) {
	name = path.Clean(name)
	info, err := fs.Stat(in, name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return in.Open(name)
}

// IsRun reports whether a directory has the files of a run.
func IsRun(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "events.jsonl"))
	return err == nil && info.Mode().IsRegular()
}

// describeRun describes the run in a directory as far as its files can be read.
func describeRun(dir string, now time.Time) Saved {
	r := Saved{ID: filepath.Base(dir), Dir: dir, Outcome: Unfinished, Manifest: []string{}}
	held, by, err := inUse(dir)
	if err == nil {
		err = r.readEvents()
	}
	r.held, r.orphan = held, held && by.ended()
	switch {
	case held && by.Holder == holderOf(r.ID): // otherwise another run is starting here
		r.Outcome, r.ExitCode, r.ElapsedMS = Running, nil, new(max(0, now.Sub(r.StartedAt).Milliseconds()))
	case err != nil:
		r.Outcome, r.Damage = Damaged, err.Error()
	case r.ExitCode != nil:
		r.readTotals()
	}
	return r
}

// readEvents reads the first and last event.
func (r *Saved) readEvents() error {
	f, err := openRegular(filepath.Join(r.Dir, "events.jsonl"), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r.StartedAt = info.ModTime()
	ends, err := readEnds(f, info.Size())
	if err != nil || ends.run == nil {
		return err
	}
	r.ID, r.PlanHash, r.Jobs = cmp.Or(ends.run.ID, r.ID), ends.run.PlanHash, len(ends.run.Jobs)
	r.Manifest = append(r.Manifest, ends.run.Manifest...)
	r.StartedAt = ends.started
	if !ends.last.IsZero() {
		r.ElapsedMS = new(max(0, ends.last.Sub(ends.started).Milliseconds()))
	}
	if ends.end != nil {
		r.Outcome, r.ExitCode, r.ElapsedMS = ends.end.Outcome, &ends.end.ExitCode, &ends.end.ElapsedMS
	}
	return nil
}

// readTotals reads the totals from the report, if it is of this run.
func (r *Saved) readTotals() {
	f, err := openRegular(filepath.Join(r.Dir, "report.json"), os.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	if t, ok := reportTotals(f, r.ID); ok {
		r.Jobs, r.Passed, r.CostUSD = t.Jobs, &t.Passed, t.CostUSD
	}
}

// reportTotals reads a report up to the totals of its run, which come before the jobs.
func reportTotals(in io.Reader, id string) (report.Totals, bool) {
	dec := json.NewDecoder(io.LimitReader(in, 1<<20))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return report.Totals{}, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return report.Totals{}, false
		}
		if key != "run" {
			var skipped json.RawMessage
			if dec.Decode(&skipped) != nil {
				return report.Totals{}, false
			}
			continue
		}
		var run struct {
			ID     string        `json:"id"`
			Totals report.Totals `json:"totals"`
		}
		err = dec.Decode(&run)
		return run.Totals, err == nil && run.ID == id
	}
	return report.Totals{}, false
}

// The maximum length of the first and last event, in bytes: run.started grows with the
// plan, run.ended does not.
const (
	maxFirst = 64 << 20
	maxLast  = 64 << 10
)

// streamEnds has data of the first and the last event of a run. run is nil without a
// complete line, end if the last event is not run.ended; last is zero if the last event
// is too long.
type streamEnds struct {
	run           *event.Run
	end           *event.RunEnd
	started, last time.Time
}

// readEnds reads the first and last event of a stored stream. It ignores an incomplete
// last line, which a kill can leave.
func readEnds(in io.ReaderAt, size int64) (streamEnds, error) {
	var ends streamEnds
	text, err := firstLine(in, size)
	if err != nil || text == nil {
		return ends, err
	}
	var first, last event.Event
	if err := json.Unmarshal(text, &first); err != nil {
		return ends, fmt.Errorf("read the first event: %w", err)
	}
	if first.Type != event.RunStarted || first.Run == nil {
		return ends, errors.New("the first event is not run.started")
	}
	ends.run, ends.started = first.Run, first.Time
	if first.Run.Evidence != nil {
		if size, err = beforeSeal(in, size); err != nil {
			return ends, err
		}
	}
	if text, err = lastLine(in, size, maxLast); err != nil || text == nil {
		return ends, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return ends, fmt.Errorf("read the last event: %w", err)
	}
	ends.last = last.Time
	if last.Type == event.RunEnded {
		ends.end = last.RunEnd
	}
	return ends, nil
}

// firstLine returns the first line without its newline; nil without
// one.
func firstLine(in io.ReaderAt, size int64) ([]byte, error) {
	var line []byte
	for off, chunk := int64(0), make([]byte, 32<<10); off < min(size, maxFirst); {
		n, err := in.ReadAt(chunk, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the first event: %w", err)
		}
		if n == 0 {
			return nil, nil // the file was truncated
		}
		if i := slices.Index(chunk[:n], '\n'); i >= 0 {
			return append(line, chunk[:i]...), nil
		}
		line, off = append(line, chunk[:n]...), off+int64(n)
	}
	if size > maxFirst {
		return nil, errors.New("read the first event: line too long")
	}
	return nil, nil
}

// lastLine returns the last complete line without its newline; nil if the last most
// bytes contain no complete line.
func lastLine(in io.ReaderAt, size, most int64) ([]byte, error) {
	from := max(0, size-most)
	chunk := make([]byte, size-from)
	n, err := in.ReadAt(chunk, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the last event: %w", err)
	}
	lines := strings.Split(string(chunk[:n]), "\n")
	// The text after the last newline is incomplete, and so may be the text before
	// the first one, unless the file starts there.
	if len(lines) < 2 || len(lines) == 2 && from > 0 {
		return nil, nil
	}
	return []byte(lines[len(lines)-2]), nil
}

// Remove removes the directory of a run, its events last: if it is interrupted, the
// directory is still a run that can be removed.
func Remove(ctx context.Context, dir string, c clock.Clock) error {
	lock, err := takeLock(dir, lockFile, holder{Holder: "millhand report prune", Since: c.Now()}, soon(ctx, c.Sleep))
	if err != nil {
		return err
	}
	defer lock.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != "events.jsonl" && name != lockFile {
			if err := removeTree(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

// removeTree removes a file or a directory, even if it contains read-only directories
// as in module caches. It does not follow symlinks.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return cmp.Or(os.RemoveAll(path), err)
}

// DiskUse returns the disk usage of the readable files in a directory, in bytes. It does
// not follow symlinks.
func DiskUse(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { //nolint:errcheck // unreadable files are not counted
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}
