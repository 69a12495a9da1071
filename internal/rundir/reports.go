package rundir

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
	"github.com/millhand/millhand/report/junit"
	"github.com/millhand/millhand/report/sarif"
	"github.com/millhand/millhand/report/summary"
	"github.com/millhand/millhand/tools/outputs"
)

// Files returns the directory that the run writes to.
func (d *Dir) Files() *files.Dir { return d.dir }

// Path returns the absolute path of the reports, which is final after Finish.
func (d *Dir) Path() string { return d.path }

// Work returns the run's private directory, for worktrees.
func (d *Dir) Work() string { return d.work }

// CopyEvents makes Log pass on each line of events.jsonl: with durable, the copy must be stored
// when to returns. Its errors are those of the log. The reports are made from the copy: Finish writes
// none. It is called before Log.
func (d *Dir) CopyEvents(to func(line []byte, durable bool) error) { d.copy = to }

// Log returns the sink that writes events.jsonl. It is called once.
func (d *Dir) Log() *EventLog {
	l := &EventLog{file: d.events, size: d.valid, room: d.freeSpace, copy: d.copy}
	if d.proved {
		l.chain = cmp.Or(d.chain, &event.Chain{})
	}
	return l
}

// Finish writes the reports, completes the events and moves both to their final
// directory. For an error after the end of the run it emits another end of the run,
// so that reports, output and exit code agree.
func (d *Dir) Finish(ctx context.Context, emit func(event.Event), log *EventLog, fold *report.Fold, broken func() error) error {
	ctx = context.WithoutCancel(ctx) // a run that is interrupted is sealed, too
	failpoint.Hit(failpoint.RunFinishing, "")
	defer failpoint.Hit(failpoint.RunFinished, "")
	outputs.Prune(d.dir.Sub("outputs"), time.Time{}) //nolint:errcheck // removes empty directories
	d.dir.Remove("outputs")                          //nolint:errcheck // removed only if empty
	d.reserve.Close()
	// Complete events are enough to write the reports later.
	write := func() error { return errors.Join(log.complete(), d.writeReports(fold.Final())) }
	err := write()
	if d.gaveUp {
		emit(warningOf("saved outputs of calls were removed: the disk of the report directory was full"))
		err = write()
	}
	if err != nil {
		err = fmt.Errorf("incomplete reports in %s: %w", d.path, err)
	}
	fault := err
	if fault == nil {
		fault = d.lost()
	}
	if cause := broken(); fault == nil && cause != nil {
		fault = fmt.Errorf("record events: %w", cause)
	}
	if fault == nil {
		if err = d.seal(ctx, emit, log, fold); err != nil {
			fault = fmt.Errorf("evidence of %s: %w", d.path, err)
		}
	}
	if endedBy(emit, fold, fault) {
		write()                      //nolint:errcheck // the first error is the one to report
		d.seal(ctx, emit, log, fold) //nolint:errcheck // as above
	}
	if err := d.land(); err != nil {
		fault = errors.Join(fault, err)
		if endedBy(emit, fold, err) {
			d.writeReports(fold.Report()) //nolint:errcheck // as above
			d.seal(ctx, emit, log, fold)  //nolint:errcheck // as above
		}
	}
	return fault
}

// lost returns an error if the report directory was removed during the run.
func (d *Dir) lost() error {
	opened, err := d.events.Stat()
	named, gone := fs.Stat(d.dir.FS(), "events.jsonl")
	if err == nil && gone == nil && os.SameFile(opened, named) {
		return nil
	}
	return fmt.Errorf("%s was removed during the run: earlier events, patches and conversations are lost", d.path)
}

// endedBy emits the end of a run for an error, unless the run already failed with its exit code.
func endedBy(emit func(event.Event), fold *report.Fold, fault error) bool {
	was := fold.Run()
	exit := event.Worst([]event.Exit{was.ExitCode, event.ExitInternal})
	if fault == nil || exit == was.ExitCode {
		return false
	}
	emit(warningOf(fault.Error()))
	emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: exit.OutcomeOf(), ExitCode: exit, ElapsedMS: was.ElapsedMS}})
	return true
}

func warningOf(text string) event.Event {
	return event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}}
}

// freeSpace removes saved outputs if the disk is full, and reports whether that freed
// space.
func (d *Dir) freeSpace(err error) bool {
	if !files.IsFull(err) {
		return false
	}
	before := d.dir.Free()
	if outputs.GiveUp(d.dir.Sub("outputs")) != nil || d.dir.Free() <= before {
		return false
	}
	d.gaveUp = true
	return true
}

const (
	findingsFile = "findings.sarif" // the findings of reviews; runs without reviews don't write it
	pageFile     = "report.html"
)

// Formats returns the reports that a run writes, by file. files is its report directory.
// The functions are for one report, and can be called concurrently.
func Formats(files fs.FS) map[string]func(io.Writer, *report.Report) error {
	return map[string]func(io.Writer, *report.Report) error{
		"report.json": report.JSON, "junit.xml": junit.Write, "failed.txt": summary.Failed,
		findingsFile: sarif.Write, "summary.md": summary.Markdown,
		pageFile: func(w io.Writer, r *report.Report) error { return html.Write(w, r, Details(files)) },
	}
}

// writeReports writes every format atomically, as a stream, the smallest first, so that as many
// reports as possible fit on a full disk. They are synced concurrently. The page, which needs as much
// time as all others together and mostly more space, is written meanwhile, and again if another one failed.
func (d *Dir) writeReports(rep *report.Report) error {
	if d.copy != nil {
		return nil
	}
	formats := Formats(d.dir.FS())
	write := func(name string) func(io.Writer) error {
		return func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 64<<10)
			return errors.Join(formats[name](b, rep), b.Flush())
		}
	}
	names := []string{"failed.txt", "summary.md", "junit.xml", "report.json", pageFile}
	if rep.HasFindings() {
		names = slices.Insert(names, 1, findingsFile)
	}
	errs := make([]error, len(names))
	page := len(names) - 1
	var syncing sync.WaitGroup
	begin := func(i int) {
		end, err := d.dir.BeginAtomic(names[i], write(names[i]))
		if errs[i] = err; err == nil {
			syncing.Go(func() { errs[i] = end() })
		}
	}
	var writing sync.WaitGroup
	writing.Go(func() { begin(page) })
	for i := range page {
		begin(i)
	}
	writing.Wait()
	syncing.Wait()
	failed := slices.ContainsFunc(errs[:page], func(err error) bool { return err != nil })
	if failed && errs[page] == nil { // it may have the space of the others
		errs[page] = errors.Join(d.dir.Remove(pageFile), errAgain)
	}
	for i, name := range names {
		if errs[i] != nil { // the disk may be full
			errs[i] = d.write(name, write(name))
		}
	}
	return errors.Join(errs...)
}

// errAgain marks a report that is written again.
var errAgain = errors.New("written again")

// write writes the file of a format. It frees space if the disk is full.
func (d *Dir) write(name string, write func(io.Writer) error) error {
	err := d.dir.WriteAtomic(name, write)
	if files.IsFull(err) {
		d.freeSpace(err)
		d.dir.Remove(name) //nolint:errcheck // an older version from this run
		err = d.dir.WriteAtomic(name, write)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, files.Reason(err))
	}
	return nil
}

func writeText(dir *files.Dir, name string, text []byte) error {
	return dir.WriteAtomic(name, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}
