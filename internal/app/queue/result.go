package queue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/event"
)

// Result is the result of a job.
type Result struct {
	Job      string       `json:"job"` // its id
	End      event.JobEnd `json:"end"`
	Delivery int          `json:"delivery"` // that ended it; 0 for none
	Worker   string       `json:"worker,omitempty"`
	Files    string       `json:"files,omitempty"` // name of the object that has its files; "" for none
	At       time.Time    `json:"at"`
}

// storeResult stores a result, unless there is another one. Its own one that is stored already
// counts as stored.
func (q *Queue) storeResult(ctx context.Context, run, key string, result Result) (stored bool, err error) {
	text, err := json.Marshal(result)
	if err != nil {
		return false, err
	}
	err = retry(ctx, func(ctx context.Context) error {
		_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: q.subjects.result(run, key), Data: text})
		return err
	})
	if err == nil {
		return true, nil
	}
	if !isFull(err) {
		return false, fmt.Errorf("store the result of job %s: %w", result.Job, err)
	}
	other, found, err := q.Result(ctx, run, key)
	return found && other.Delivery == result.Delivery && other.Worker == result.Worker, err
}

// Result returns the result of a job, and whether it has one.
func (q *Queue) Result(ctx context.Context, run, key string) (r Result, found bool, err error) {
	var msg *jetstream.RawStreamMsg
	err = retry(ctx, func(ctx context.Context) error {
		msg, err = q.results.GetLastMsgForSubject(ctx, q.subjects.result(run, key))
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read the result of job %s: %w", key, err)
	}
	return resultOf(key, msg.Time, msg.Data), true, nil
}

// resultOf returns the result in a message. An invalid one, which somebody else stored, can't be
// replaced: the job ends with an error.
func resultOf(key string, at time.Time, data []byte) Result {
	r, err := parseResult(data)
	if err != nil {
		return invalidResult(key, at, err)
	}
	return r
}

func invalidResult(job string, at time.Time, why error) Result {
	return Result{Job: job, End: event.CodeInternal.End(why.Error()), At: at}
}

// parseResult parses a result.
func parseResult(data []byte) (r Result, err error) {
	if err = json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: result: %w", ErrInvalid, err)
	}
	return r, nil
}

// Results returns the results of the jobs of a run, by their keys.
func (q *Queue) Results(ctx context.Context, r *Run) (map[string]Result, error) {
	all, prefix := map[string]Result{}, q.subjects.result(r.ID, "")
	err := q.each(ctx, q.results, prefix+"*", func(_ uint64, at time.Time, subject string, _ nats.Header, data []byte) error {
		if key := subject[len(prefix):]; r.Index(key) >= 0 {
			all[key] = resultOf(key, at, data)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the results of run %s: %w", r.ID, err)
	}
	return all, nil
}

// Ended returns how many jobs of a run have a result.
func (q *Queue) Ended(ctx context.Context, r *Run) (n int, err error) {
	prefix := q.subjects.result(r.ID, "")
	err = retry(ctx, func(ctx context.Context) error {
		info, err := q.results.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
		if err != nil {
			return err
		}
		n = 0
		for subject := range info.State.Subjects {
			if r.Index(subject[len(prefix):]) >= 0 { // the others are somebody else's
				n++
			}
		}
		return nil
	})
	return n, err
}

// Files returns the files of a job that its worker stored; nil for none. The error is ErrInvalid if
// the queue does not have them.
func (q *Queue) Files(ctx context.Context, r Result) (data []byte, err error) {
	if r.Files == "" {
		return nil, nil
	}
	if data, err = q.object(ctx, r.Files, maxFiles); err != nil {
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return nil, fmt.Errorf("read the files of job %s: %w", r.Job, err)
	}
	return data, nil
}

// maxFiles limits the packed files of a job, in bytes.
const maxFiles = 1 << 30

// StoreFiles stores the files of the job before an effect after which a later delivery does not
// make them again. They are not stored again by Finish if they are the same. It returns when the
// lease is lost, too.
func (c *Claim) StoreFiles(ctx context.Context, files []byte) error {
	ctx, done := c.held(ctx)
	defer done()
	sum := sha256.Sum256(files)
	if len(files) == 0 || sum == c.stored {
		return nil
	}
	err := retryEach(ctx, patience(len(files)), func(ctx context.Context) error {
		_, err := c.q.files.PutBytes(ctx, c.filesOf(c.Delivery), files)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the files of job %s: %w", c.Job.ID, err)
	}
	c.stored = sum
	return nil
}

// EarlierFiles returns the files that the last of the earlier deliveries has stored; nil for none.
func (c *Claim) EarlierFiles(ctx context.Context) ([]byte, error) {
	ctx, done := c.held(ctx)
	defer done()
	for _, d := range slices.Backward(c.Earlier) {
		data, err := c.q.Files(ctx, Result{Job: c.Job.ID, Files: c.filesOf(d.Number)})
		if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return data, err
		}
	}
	return nil, nil
}

// filesOf is the name of the files of a delivery.
func (c *Claim) filesOf(delivery int) string {
	return fmt.Sprintf("files/%s/%s/%d", c.Run.ID, c.Job.Key, delivery)
}
