package rundir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tools"
)

// Files returns the directory that the run writes into while it runs.
func (d *Dir) Files() *reportdir.Dir { return d.dir }

// Path returns the absolute path of the reports: where they will be once Finish
// has returned.
func (d *Dir) Path() string { return d.path }

// Work returns the run's private directory, for worktrees.
func (d *Dir) Work() string { return d.work }

// Log returns the sink that writes events.jsonl. There is one for a run.
func (d *Dir) Log() *EventLog { return &EventLog{file: d.events, room: d.makeRoom} }

// Finish writes the reports, completes the events and moves both to where they
// belong. A fault that the run did not know of when it ended ends it once more,
// so that the reports that can be written, what is printed and the exit code
// agree.
func (d *Dir) Finish(emit func(event.Event), log *EventLog, fold *report.Fold, broken func() error) error {
	d.dir.Remove("outputs") //nolint:errcheck // one with outputs stays
	d.reserve.Close()
	write := func() error { return errors.Join(d.writeReports(fold.Report()), log.complete()) }
	err := write()
	if d.gaveUp {
		emit(warningOf("outputs of calls were removed: the disk of the report directory was full"))
		err = write()
	}
	if err != nil {
		err = fmt.Errorf("the reports in %s are not complete: %w", d.path, err)
	}
	fault := err
	if fault == nil {
		fault = d.lost()
	}
	if cause := broken(); fault == nil && cause != nil {
		fault = fmt.Errorf("not everything could be recorded while it happened: %w", cause)
	}
	if endedBy(emit, fold, fault) {
		write() //nolint:errcheck // the first error is the one to report
	}
	if err := d.land(); err != nil {
		fault = errors.Join(fault, err)
		if endedBy(emit, fold, err) {
			d.writeReports(fold.Report()) //nolint:errcheck // as above
		}
	}
	return fault
}

// lost is the error of a report directory that was removed during the run: what was
// written before went with it.
func (d *Dir) lost() error {
	opened, err := d.events.Stat()
	named, gone := fs.Stat(d.dir.FS(), "events.jsonl")
	if err == nil && gone == nil && os.SameFile(opened, named) {
		return nil
	}
	return fmt.Errorf("%s was removed during the run: the events, patches and conversations written before are lost", d.path)
}

// endedBy ends a run that a fault has ended, and says so, unless it is known.
func endedBy(emit func(event.Event), fold *report.Fold, fault error) bool {
	was := fold.Report().Run
	exit := event.Worst([]event.Exit{was.ExitCode, event.ExitInternal})
	if fault == nil || exit == was.ExitCode {
		return false
	}
	emit(warningOf(fault.Error()))
	emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: exit.OutcomeOf(), ExitCode: exit, ElapsedMS: was.ElapsedMS}})
	return true
}

func warningOf(text string) event.Event {
	return event.Event{Type: event.WarningGiven, Warning: &event.Warning{Message: text}}
}

// makeRoom gives up the kept outputs when the disk is full, and reports whether
// there were any: nothing else of a run can be spared.
func (d *Dir) makeRoom(err error) bool {
	if !reportdir.IsFull(err) {
		return false
	}
	before := d.dir.Free()
	if tools.PruneOutputs(d.dir.Sub("outputs"), d.now().Add(24*time.Hour)) != nil || d.dir.Free() <= before {
		return false
	}
	d.gaveUp = true
	return true
}

// formats lists the reports that a run writes.
func formats() map[string]func(io.Writer, *report.Report) error {
	return map[string]func(io.Writer, *report.Report) error{
		"report.json": report.JSON, "junit.xml": report.JUnit, "summary.md": report.Markdown, "failed.txt": report.Failed,
	}
}

// writeReports writes every format atomically, the smallest first: on a full
// disk some reports are better than none.
func (d *Dir) writeReports(rep *report.Report) error {
	type file struct {
		name string
		text []byte
	}
	var files []file
	var errs []error
	for name, write := range formats() {
		var text bytes.Buffer
		if err := write(&text, rep); err != nil {
			errs = append(errs, fmt.Errorf("make %s: %w", name, err))
			continue
		}
		files = append(files, file{name, text.Bytes()})
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.name, b.name))
	})
	for _, f := range files {
		err := writeText(d.dir, f.name, f.text)
		if reportdir.IsFull(err) {
			d.makeRoom(err)
			d.dir.Remove(f.name) //nolint:errcheck // of this run, and says less than what replaces it
			err = writeText(d.dir, f.name, f.text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, reportdir.Reason(err)))
		}
	}
	return errors.Join(errs...)
}

func writeText(dir *reportdir.Dir, name string, text []byte) error {
	return dir.WriteWhole(name, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}
