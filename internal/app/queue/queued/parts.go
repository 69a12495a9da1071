package queued

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/report"
)

// Parts writes the events of each job to a directory of its own, with its files, and
// returns these as parts of a merged run.
func Parts(ctx context.Context, q *queue.Queue, r *queue.Run, dir *files.Dir) ([]report.Input, error) {
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
	if err = Unpack(data, dir.Sub(key)); errors.Is(err, queue.ErrInvalid) {
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
	own := Start(r, j)
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
	stream.Emit(event.Event{Type: event.RunStarted, Run: Start(r, j)})
	stream.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &result.End})
	return text.Bytes()
}

// Start is the run.started event of a job of a run: like that of a shard with one job.
func Start(r *queue.Run, j queue.Job) *event.Run {
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
