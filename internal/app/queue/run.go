package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// Run is a run as it was submitted.
type Run struct {
	ID            string          `json:"id"`
	Submitted     time.Time       `json:"submitted"`
	Deadline      time.Time       `json:"deadline,omitzero"` // after which no job starts; zero for none
	Start         event.Run       `json:"start"`             // its run.started event, with all jobs
	CostUSD       money.USD       `json:"cost_usd"`          // the budget; 0 for none
	MaxDeliveries int             `json:"max_deliveries"`    // of a job to workers that did not end it
	Lease         time.Duration   `json:"lease"`             // after which the job of a silent worker is delivered again
	Jobs          []Job           `json:"jobs"`              // in the order of the plan
	Manifests     []string        `json:"manifests"`         // as they were named
	Dir           string          `json:"dir"`               // that the run was submitted in
	Event         string          `json:"event"`             // file with the event of the CI; "" for none
	Policies      []string        `json:"policies"`          // files that bound the plan
	Options       json.RawMessage `json:"options"`           // of the command line
	Files         []File          `json:"files"`             // inputs: manifests and what they name

	index  sync.Once
	byKey  map[string]int   // indices of jobs
	needed map[string][]int // indices of the jobs that need one
}

// File is an input of a run.
type File struct {
	Path   string      `json:"path"` // absolute, on the machine that submitted the run
	Mode   fs.FileMode `json:"mode"`
	SHA256 string      `json:"sha256,omitempty"` // "" for a directory
}

// Job is a job of a run.
type Job struct {
	ID    string   `json:"id"`
	Key   string   `json:"key"`   // in the names of subjects: of its content, unique in the run
	Needs []string `json:"needs"` // keys of jobs that must have ended before
	// Requires are environment variables that a worker must have: one of each list.
	Requires [][]string `json:"requires"`
}

// class identifies the jobs that one consumer delivers: those with the same requirements and
// lease.
func (r *Run) class(j Job) string {
	text, _ := json.Marshal([]any{j.Requires, r.Lease}) //nolint:errchkjson // lists of texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// subjects are the subjects of a queue's messages, by its name.
type subjects string

func (s subjects) job(class, key string) string  { return string(s) + ".job." + class + "." + key }
func (s subjects) log(run, key string) string    { return string(s) + ".log." + run + "." + key }
func (s subjects) result(run, key string) string { return string(s) + ".result." + run + "." + key }

func inputName(sum string) string { return "input/" + sum }
func runName(id string) string    { return "run/" + id }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// HashOf returns the hash of an input, as Run.Files has it.
func HashOf(data []byte) string { return hashOf(data) }

// Input returns an input of a run of at most so many bytes, by its hash.
func (q *Queue) Input(ctx context.Context, sum string, most int) (data []byte, err error) {
	data, err = q.object(ctx, inputName(sum), most)
	if err == nil && hashOf(data) != sum {
		err = errors.New("its content does not have its hash")
	}
	return data, err
}

// maxStalls is how often an object is read again whose content does not arrive while the server responds.
const maxStalls = 3

// object returns an object of at most so many bytes. Its record may be somebody else's: it may refer to another
// object, or to itself, or have other content than the object, or none.
func (q *Queue) object(ctx context.Context, name string, most int) (data []byte, err error) {
	for stalls := 0; stalls < maxStalls; {
		var info *jetstream.ObjectInfo
		err = retry(ctx, func(ctx context.Context) error {
			info, err = q.files.GetInfo(ctx, name)
			return err
		})
		switch {
		case err != nil:
			return nil, invalid(err)
		case info.Opts != nil && info.Opts.Link != nil:
			return nil, fmt.Errorf("%w: a reference to another object", ErrInvalid)
		case info.Size > uint64(most):
			return nil, fmt.Errorf("%w: larger than %d bytes", ErrInvalid, most)
		}
		data, err = contentOf(ctx, q.files, name, int(info.Size)) //nolint:gosec // at most most
		switch {
		case err == nil && len(data) > most:
			return nil, fmt.Errorf("%w: larger than %d bytes", ErrInvalid, most)
		case err == nil || ctx.Err() != nil || !temporary(err):
			return data, invalid(err)
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
			stalls++
		default: // the connection
			pause(ctx)
		}
	}
	return nil, fmt.Errorf("%w: its content is missing: %w", ErrInvalid, err)
}

// invalid marks errors of what others have stored.
func invalid(err error) error {
	if errors.Is(err, jetstream.ErrBadObjectMeta) || errors.Is(err, jetstream.ErrDigestMismatch) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}

// contentOf reads an object with so many bytes, and at most one more.
func contentOf(ctx context.Context, files jetstream.ObjectStore, name string, size int) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	try, cancel := context.WithTimeout(ctx, patience(size))
	go func() { // a read of the object ends at its deadline, whatever becomes of its context
		defer cancel()
		object, err := files.Get(try, name)
		if err != nil {
			done <- result{err: err}
			return
		}
		defer object.Close()
		data, err := io.ReadAll(io.LimitReader(object, int64(size)+1))
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// maxRecord limits the record of a run, in bytes: it grows with the jobs.
const maxRecord = 512 << 20

// Forget drops what is in memory of a run.
func (q *Queue) Forget(run string) { q.runs.Delete(run) }

// ErrNotFound is the error of a run that the queue does not have.
var ErrNotFound = errors.New("run not found in the queue")

// Run returns a run.
func (q *Queue) Run(ctx context.Context, id string) (*Run, error) {
	if !isName(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	text, err := q.object(ctx, runName(id), maxRecord)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	var r *Run
	if err == nil {
		r, err = parseRun(id, text)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	return r, nil
}

// ErrInvalid is the error of a record that no version of millhand has stored: somebody else has.
var ErrInvalid = errors.New("invalid record in the queue")

// parseRun parses the record of a run.
func parseRun(id string, text []byte) (*Run, error) {
	r := &Run{}
	err := json.Unmarshal(text, r)
	if err == nil {
		err = r.check(id)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return r, nil
}

// indexed indexes the jobs, which don't change: a run can have tens of thousands.
func (r *Run) indexed() *Run {
	r.index.Do(func() {
		r.byKey, r.needed = make(map[string]int, len(r.Jobs)), map[string][]int{}
		for i, j := range r.Jobs {
			r.byKey[j.Key] = i
			for _, key := range slices.Compact(slices.Sorted(slices.Values(j.Needs))) {
				r.needed[key] = append(r.needed[key], i)
			}
		}
	})
	return r
}

// Index returns the index of the job with a key; -1 if the run has none.
func (r *Run) Index(key string) int {
	if i, found := r.indexed().byKey[key]; found {
		return i
	}
	return -1
}

// Has reports whether a path is an input of the run.
func (r *Run) Has(path string) bool {
	return slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == path })
}

// cachedRun returns a run, which does not change.
func (q *Queue) cachedRun(ctx context.Context, id string) (*Run, error) {
	if r, ok := q.runs.Load(id); ok {
		return r.(*Run), nil
	}
	r, err := q.Run(ctx, id)
	if err == nil {
		q.runs.Store(id, r)
	}
	return r, err
}
