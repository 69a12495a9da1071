package command

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
// delivery that finds either does not make them again: it has those of the earlier one.
type fileKeeper struct {
	ctx    context.Context //nolint:containedctx // of the job; what it stores is limited by the lease
	claim  *queue.Claim
	dir    string // report directory of the job
	pack   func(dir string) ([]byte, error)
	has    bool // it has the files, or makes its own
	stored bool
}

// before is called with each line of the events before it is stored.
func (f *fileKeeper) before(line []byte) error {
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
	switch e.Type { //nolint:exhaustive // the others need no files
	case event.JobStarted:
		f.has = true
	case event.PhaseStarted:
		if e.Phase.Name == "publish" {
			return f.restore()
		}
	case event.PublishStarted, event.JobEnded:
		return f.store()
	case event.RunEnded:
		return cmp.Or(f.restore(), f.store())
	}
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
