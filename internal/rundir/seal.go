package rundir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/evidence"
)

// Prove makes the run chain its events and seal the directory at the end. A key signs the statement about it; nil for no
// signature. It is called before Log.
func (d *Dir) Prove(key *signing.Key) { d.proved, d.key = true, key }

// beforeSeal returns the size of a stored stream without the seal that may be its last complete
// line, which is longer the more files a run has.
func beforeSeal(in io.ReaderAt, size int64) (int64, error) {
	const step = 64 << 10
	end := int64(-1) // of the last complete line
	for to := size; to > 0 && size-to < maxFirst; to -= step {
		chunk := make([]byte, min(step, to))
		if _, err := in.ReadAt(chunk, to-int64(len(chunk))); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read the last event: %w", err)
		}
		for at, c := range slices.Backward(chunk) {
			if c != '\n' {
				continue
			}
			if here := to - int64(len(chunk)) + int64(at); end < 0 {
				end = here
			} else if isSeal(in, here+1) {
				return here + 1, nil
			} else {
				return size, nil
			}
		}
	}
	return size, nil
}

// isSeal reports whether the line at an offset is a seal. Its type is near its start.
func isSeal(in io.ReaderAt, at int64) bool {
	head := make([]byte, 200)
	n, _ := in.ReadAt(head, at)
	return bytes.Contains(head[:n], []byte(`"type":"`+string(event.Sealed)+`"`))
}

// errNotChained is the error of a directory whose earlier events have no hashes.
var errNotChained = errors.New("its events are not chained")

// seal seals the directory, if the run has evidence: its reports are written, and the seal is
// the last event.
func (d *Dir) seal(ctx context.Context, emit func(event.Event), log *EventLog, fold *report.Fold) error {
	if !d.proved {
		return nil
	}
	run, _, _ := log.last()
	if run == nil || run.Evidence == nil {
		return errNotChained
	}
	rep := fold.Report()
	for _, name := range []string{evidence.StatementFile, evidence.SignatureFile, evidence.EnvelopeFile, evidence.TestsFile} {
		if d.dir.Exists(name) { // of an earlier process
			if err := d.dir.Remove(name); err != nil {
				return err
			}
		}
	}
	tests, err := evidence.NewTests(d.dir.FS(), run, rep)
	if err == nil && tests != nil {
		err = writeText(d.dir, evidence.TestsFile, tests)
	}
	if err != nil {
		return err
	}
	var others []string
	if savedManifest(d.dir) {
		others = append(others, manifestFile)
	}
	_, _, chain := log.last()
	seal, err := evidence.Seal(d.dir.FS(), others, run, rep, chain.Jobs())
	if err != nil {
		return err
	}
	emit(event.Event{Type: event.Sealed, Seal: seal})
	if err := log.complete(); err != nil {
		return err
	}
	return d.state(ctx, log, rep)
}

// state writes the statement about a sealed directory, its signature and its envelope.
func (d *Dir) state(ctx context.Context, log *EventLog, rep *report.Report) error {
	run, seal, chain := log.last()
	if seal == nil {
		return errors.New("the seal was not written")
	}
	events, err := evidence.EventsOf(d.dir.FS(), chain)
	if err != nil {
		return err
	}
	text, err := evidence.NewStatement(run, seal, rep, events)
	if err != nil {
		return err
	}
	signature := ""
	var envelope []byte
	if d.key != nil {
		if signature, err = d.key.SignAs(ctx, evidence.Namespace, bytes.Clone(text)); err != nil {
			return err
		}
		if envelope, err = d.key.Envelope(ctx, evidence.PayloadType, bytes.Clone(text)); err != nil {
			return err
		}
	}
	if err := writeText(d.dir, evidence.StatementFile, text); err != nil || signature == "" {
		return err
	}
	if err := writeText(d.dir, evidence.SignatureFile, []byte(signature)); err != nil || envelope == nil {
		return err
	}
	return writeText(d.dir, evidence.EnvelopeFile, envelope)
}
