package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
)

// fileKeeper stores the patch and the transcripts of a job before its commit is pushed and before its end. A
// delivery that finds either does not make them again: it has those of the earlier one. After a failure it refuses all
// lines: the log of the job ends where its files are missing.
type fileKeeper struct {
	ctx    context.Context //nolint:containedctx // of the job; what it stores is limited by the lease
	claim  *queue.Claim
	dir    string // report directory of the job
	pack   func(dir string) ([]byte, error)
	has    bool // it has the files, or makes its own
	stored bool
	fault  error // the first one
}

// before is called with each line of the events before it is stored.
func (f *fileKeeper) before(line []byte) error {
	if f.fault != nil {
		return f.fault
	}
	if head := line[:min(len(line), 200)]; !bytes.Contains(head, []byte(`.started"`)) && !bytes.Contains(head, []byte(`.ended"`)) {
		return nil
	}
	var e struct {
		Type  event.Type
		Phase *event.Phase
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if keep, ok := keeps.Of(e.Type); ok {
		f.fault = keep(f, e.Phase)
	}
	return f.fault
}

// keeps is what a job needs of the files before an event; the phase is that of events about one.
var keeps = event.Walk[func(*fileKeeper, *event.Phase) error]{
	On: map[event.Type]func(*fileKeeper, *event.Phase) error{
		event.JobStarted: (*fileKeeper).expect,
		event.PhaseStarted: func(f *fileKeeper, phase *event.Phase) error {
			if phase != nil && phase.Name == "publish" {
				return f.restore()
			}
			return nil
		},
		event.PublishStarted: func(f *fileKeeper, _ *event.Phase) error { return f.store() },
		event.JobEnded:       func(f *fileKeeper, _ *event.Phase) error { return f.store() },
		event.RunEnded:       func(f *fileKeeper, _ *event.Phase) error { return cmp.Or(f.restore(), f.store()) },
	},
	Ignores: []event.Type{
		event.RunStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded, event.ScriptEnded, event.SessionStarted,
		event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.TurnStarted, event.ModelText, event.RequestRetried, event.CallUpdated, event.TurnEnded, event.Pruned,
		event.Compacted, event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted, event.Committed,
		event.CommitPublished, event.PullRequestStarted, event.CommentStarted, event.CommentPosted, event.ForgeRequestStarted, event.ForgeRequestEnded, // after the push
		event.NetworkRequested, event.ExtensionChanged, event.RevertStarted, event.Reverted, event.WarningIssued, event.Sealed,
		event.AblationStarted, event.TrialEnded, event.AblationEnded,
		event.UntrustedRead,
	},
}

// expect notes that the job has files from now on.
func (f *fileKeeper) expect(*event.Phase) error {
	f.has = true
	return nil
}

// store stores the files, which are complete when it is called for the first time.
func (f *fileKeeper) store() error {
	if f.stored {
		return nil
	}
	f.stored = true
	data, err := f.pack(f.dir)
	if err != nil {
		return err
	}
	return f.claim.StoreFiles(f.ctx, data)
}

// restore restores the files of an earlier delivery, unless this one makes its own.
func (f *fileKeeper) restore() error {
	if f.has {
		return nil
	}
	f.has = true
	data, err := f.claim.EarlierFiles(f.ctx)
	if err != nil || data == nil {
		return err
	}
	dir, err := files.Open(f.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return queued.Unpack(data, dir)
}
