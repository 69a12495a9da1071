package command

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/report"
)

type queueReportOptions struct {
	server    queueOptions
	run       string
	reportDir string
	wait      bool
	failOn    event.FailOn
}

func (o *queueReportOptions) parse(args []string) (err error) {
	o.run, err = oneRun("queue report", args)
	if err == nil && o.reportDir == "" {
		err = errors.New("queue report requires --report-dir DIR")
	}
	return cmp.Or(err, o.server.check("queue report"))
}

// pollRun is how often a run is looked at until it has ended.
const pollRun = time.Second

// pollAgain returns how long to wait before a run is looked at again, after that took so long: the
// more jobs have ended, the more the server sends.
func pollAgain(took time.Duration) time.Duration { return min(max(pollRun, 10*took), 10*pollRun) }

// reportQueued writes all files that the pool would have written for a run.
func reportQueued(ctx context.Context, w World, o queueReportOptions) error {
	q, r, err := queuedRun(ctx, w, o.server, o.run)
	if err != nil {
		return err
	}
	defer q.Close()
	if o.wait {
		if err := waitForRun(ctx, w, q, r); err != nil {
			return err
		}
	}
	out, err := rundir.Claim(ctx, o.reportDir, "queue", w.Clock())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer out.Close()
	dir, err := files.MakeTemp(os.TempDir(), "millhand-queue-")
	if err != nil {
		return fault.New(event.ExitInternal, "create a directory for the events of jobs: %w", err)
	}
	defer os.RemoveAll(dir.Path())
	defer dir.Close()
	parts, err := queuedParts(ctx, q, r, dir)
	if err != nil {
		return fault.New(event.ExitUnavailable, "%w", err)
	}
	return writeMerged(w, out, parts, o.failOn)
}

// quietTime is after how long without a job that ended a waiting command prints what it waits for.
const quietTime = time.Minute

// waitForRun waits until all jobs of a run have ended, or no more start and none runs.
func waitForRun(ctx context.Context, w World, q *queue.Queue, r *queue.Run) error {
	ended, since := 0, w.Now()
	for {
		began := w.Now()
		n, err := q.Ended(ctx, r)
		if err != nil {
			return fault.New(event.ExitUnavailable, "%w", err)
		}
		if n >= len(r.Jobs) {
			return nil
		}
		if n > ended {
			ended, since = n, w.Now()
		} else if w.Now().Sub(since) >= quietTime {
			since = w.Now()
			if s, err := stateOf(ctx, w, q, r); err == nil {
				fmt.Fprintln(w.Err, "waiting:")
				writeState(w.Err, w.Now(), s) //nolint:errcheck // a closed log
			}
		}
		over, err := q.Over(ctx, r)
		if err != nil {
			return fault.New(event.ExitUnavailable, "%w", err)
		}
		if over {
			return nil
		}
		if err := clock.Wait(ctx, pollAgain(w.Now().Sub(began))); err != nil {
			return fault.Wrap(exitOf(err), err)
		}
	}
}

// queuedParts writes the events of each job to a directory of its own, with its files, and
// returns these as parts of a merged run.
func queuedParts(ctx context.Context, q *queue.Queue, r *queue.Run, dir *files.Dir) ([]report.Input, error) {
	results, err := q.Results(ctx, r)
	if err != nil {
		return nil, err
	}
	var parts []report.Input
	add := func(name string, text []byte) error {
		at := dir.Sub(name) // a name of the server's
		parts = append(parts, report.Input{Name: at.Path(), Open: func() (io.ReadCloser, error) { return at.FS().Open("events.jsonl") }})
		return at.WriteNew("events.jsonl", text)
	}
	if err := add(queue.PlanName, planText(r)); err != nil {
		return nil, err
	}
	has := map[string]bool{}
	err = q.EachLog(ctx, r, func(key string, text []byte, end *queue.Result) error {
		if len(text) == 0 {
			return nil // claimed a moment ago
		}
		has[key] = true
		j := r.Jobs[r.Index(key)]
		if err := checkEvents(r, j, text); err != nil { // the other jobs have their reports
			return add(key, endText(r, j, unproven(r, err.Error())))
		}
		result := results[key]
		if end != nil { // the stored one can be of somebody who did not run the job
			result = *end
		}
		err := addJobFiles(ctx, q, result, dir, key)
		if errors.Is(err, queue.ErrInvalid) {
			text, err = endedAs(text, j.ID, unproven(r, err.Error()).End)
		}
		if err != nil {
			return err
		}
		return add(key, text)
	})
	if err != nil {
		return nil, err
	}
	for _, j := range r.Jobs {
		result, ended := results[j.Key]
		if !ended || has[j.Key] {
			continue
		}
		if result.End.Outcome == event.Passed || forged(result.End) {
			result = unproven(r, "it has no events")
		}
		if err := add(j.Key, endText(r, j, result)); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// addJobFiles writes the files of a job below a directory: all, or none if they are invalid.
func addJobFiles(ctx context.Context, q *queue.Queue, result queue.Result, dir *files.Dir, key string) error {
	data, err := q.Files(ctx, result)
	if err != nil || len(data) == 0 {
		return err
	}
	if err = unpack(data, dir.Sub(key)); errors.Is(err, queue.ErrInvalid) {
		err = errors.Join(err, dir.RemoveAll(key))
	}
	return err
}

// endedAs returns the events of a job with another end: what it did and what it cost stays in its report, without the
// files that its own end names.
func endedAs(text []byte, job string, end event.JobEnd) ([]byte, error) {
	var out bytes.Buffer
	sink, ended, last := event.JSONL(&out), false, event.Event{}
	_, err := event.Read(bytes.NewReader(text), func(e event.Event) error {
		switch {
		case e.JobEnd != nil:
			own := *e.JobEnd
			own.Outcome, own.Reason, own.Code, own.Cause, own.ExitCode = end.Outcome, end.Reason, end.Code, end.Cause, end.ExitCode
			own.Patch, own.PatchSHA256 = "", ""
			e.JobEnd, ended = &own, true
		case e.RunEnd != nil:
			e.RunEnd = &event.RunEnd{Outcome: end.ExitCode.OutcomeOf(), ExitCode: end.ExitCode}
		}
		last = e
		return sink.Emit(e)
	})
	if err == nil && !ended {
		err = sink.Emit(event.Event{Type: event.JobEnded, Seq: last.Seq + 1, Time: last.Time, Job: job, JobEnd: &end})
	}
	return out.Bytes(), err
}

// unproven is the result of a job whose records in the queue are not those that a worker stores.
func unproven(r *queue.Run, why string) queue.Result {
	return queue.Result{End: event.CodeInternal.End("invalid result in the queue: " + why), At: r.Submitted}
}

// checkEvents checks that the events of a job are of no other job or run: whoever can run one job could
// otherwise end the others.
func checkEvents(r *queue.Run, j queue.Job, text []byte) error {
	own := startOf(r, j)
	_, err := event.Read(bytes.NewReader(text), func(e event.Event) error {
		switch s := e.Run; {
		case e.Job != "" && e.Job != j.ID:
			return fmt.Errorf("events of job %q", e.Job)
		case e.JobEnd != nil && forged(*e.JobEnd):
			return fmt.Errorf("outcome %q with exit code %d", e.JobEnd.Outcome, e.JobEnd.ExitCode)
		case s == nil:
		case s.ID != r.ID || s.PlanHash != own.PlanHash || s.Shard == nil || own.Shard == nil || *s.Shard != *own.Shard:
			return errors.New("events of another run")
		case len(s.Jobs) != 1 || s.Jobs[0].ID != j.ID || len(s.Elsewhere) > 0:
			return errors.New("events of other jobs")
		}
		return nil
	})
	return err
}

// forged reports whether the end of a job contradicts itself: the run would exit with 0 without a job that passed.
func forged(end event.JobEnd) bool {
	return end.Outcome != event.Skipped && (end.Outcome == event.Passed) != (end.ExitCode == event.ExitOK)
}

// planText is the stream of a run of which no job has run: all of them are elsewhere.
func planText(r *queue.Run) []byte {
	started := r.Start
	started.Jobs, started.Elsewhere, started.Shard = []event.PlannedJob{}, r.Start.Jobs, nil
	var text bytes.Buffer
	stream := event.NewStream(func() time.Time { return r.Submitted }, event.JSONL(&text))
	stream.Emit(event.Event{Type: event.RunStarted, Run: &started})
	return text.Bytes()
}

// endText is the stream of a job that has a result, and was not run.
func endText(r *queue.Run, j queue.Job, result queue.Result) []byte {
	var text bytes.Buffer
	stream := event.NewStream(func() time.Time { return result.At }, event.JSONL(&text))
	stream.Emit(event.Event{Type: event.RunStarted, Run: startOf(r, j)})
	stream.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &result.End})
	return text.Bytes()
}

// startOf is the run.started event of a job of a run: like that of a shard with one job.
func startOf(r *queue.Run, j queue.Job) *event.Run {
	started := r.Start
	started.Jobs, started.Elsewhere, started.Sources = nil, []event.PlannedJob{}, nil
	if i := r.Index(j.Key); i >= 0 && i < len(r.Start.Jobs) && r.Start.Jobs[i].ID == j.ID {
		planned := r.Start.Jobs[i]
		started.Shard = &event.Shard{Index: i + 1, Total: len(r.Start.Jobs)}
		planned.Shard = i + 1
		started.Jobs = []event.PlannedJob{planned}
	}
	return &started
}

// packed are the directories of a report directory whose files a worker stores.
var packed = []string{"patches", "sessions", "outputs"}

// maxUnpacked limits the files of a job, in bytes.
const maxUnpacked = 4 << 30

// pack returns the files below a report directory that its reports refer to; nil for none. It resets
// the writer, which can be used again: a new one allocates most of a megabyte.
func pack(dir string, compressed *gzip.Writer) ([]byte, error) {
	var buffer bytes.Buffer
	compressed.Reset(&buffer)
	archive := tar.NewWriter(compressed)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) { // the job was not run
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	empty := true
	for _, name := range packed {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			empty = false
			return packFile(archive, root, rel)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil || empty {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func packFile(archive *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, info.Size())
	return err
}

// unpack writes packed files below a directory.
func unpack(data []byte, dir *files.Dir) error {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: files of a job: %w", queue.ErrInvalid, err)
	}
	archive, left := tar.NewReader(compressed), int64(maxUnpacked)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: files of a job: %w", queue.ErrInvalid, err)
		}
		top, _, _ := strings.Cut(header.Name, "/")
		left -= header.Size + 1<<10 // files without content are not free
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) || !slices.Contains(packed, top) || left < 0 {
			return fmt.Errorf("%w: files of a job: invalid entry %q", queue.ErrInvalid, header.Name)
		}
		f, err := dir.Create(header.Name)
		if err != nil {
			return err
		}
		buffered := bufio.NewWriter(f)
		if _, err = io.Copy(buffered, entry{archive}); err == nil {
			err = buffered.Flush()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// entry is a file of an archive. Its errors are those of the archive.
type entry struct{ io.Reader }

// Read implements [io.Reader].
func (e entry) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: files of a job: %w", queue.ErrInvalid, err)
	}
	return n, err
}
