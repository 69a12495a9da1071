package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/event"
)

// order is the message of a job in the queue.
type order struct {
	Run string `json:"run"`
	Key string `json:"key"`
}

// Submitted is the result of Submit.
type Submitted struct {
	Queued  int            // jobs
	Waiting int            // jobs that need others
	Present map[string]int // jobs that are already in the queue, by the run that queued them
}

// posting queues the jobs of a run.
type posting struct {
	*Queue
	run *Run
}

// Submit stores a run and queues its jobs. contents returns an input, by its path. A job that
// another run has queued and that has not ended is not queued again: in this run it is skipped.
// If that is so for all jobs, the run is not stored.
func (q *Queue) Submit(ctx context.Context, r *Run, contents func(path string) ([]byte, error)) (*Submitted, error) {
	done := &Submitted{Present: map[string]int{}}
	present := map[string]string{} // run, by key
	queued, err := q.waiting(ctx, "*.*")
	if err != nil {
		return nil, err
	}
	for _, j := range r.Jobs {
		if queued[j.Key] == "" {
			continue
		}
		run, _, err := q.queuedAs(ctx, queued[j.Key], j)
		if err != nil {
			return nil, err
		}
		if run != "" {
			present[j.Key] = run
			done.Present[run]++
		}
	}
	if len(present) == len(r.Jobs) {
		return done, nil
	}
	if err := q.store(ctx, r, contents); err != nil {
		return nil, err
	}
	post := posting{q, r}
	var sent []pending
	wait := func() error {
		for _, p := range sent {
			by, err := post.sent(ctx, p)
			switch {
			case err != nil:
				return fmt.Errorf("queue job %s: %w", p.job.ID, err)
			case by == r.ID:
				done.Queued++
				continue
			}
			done.Present[by]++
			present[p.job.Key] = by
			if err := post.skip(ctx, p.job, by); err != nil {
				return err
			}
		}
		sent = sent[:0]
		return nil
	}
	for _, j := range r.Jobs {
		switch {
		case present[j.Key] != "":
			if err := post.skip(ctx, j, present[j.Key]); err != nil {
				return nil, err
			}
		case len(j.Needs) > 0:
			done.Waiting++
		default:
			p, err := post.send(j)
			if err != nil {
				return nil, fmt.Errorf("queue job %s: %w", j.ID, err)
			}
			if sent = append(sent, p); len(sent) == inFlight {
				if err := wait(); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := wait(); err != nil {
		return nil, err
	}
	for _, j := range r.Jobs { // jobs that need one that is skipped
		if slices.ContainsFunc(j.Needs, func(key string) bool { return present[key] != "" }) {
			if err := post.ready(ctx, j); err != nil {
				return nil, err
			}
		}
	}
	return done, nil
}

// skip stores the result of a job that another run has queued.
func (p posting) skip(ctx context.Context, j Job, by string) error {
	end := event.CodeNotRun.End("already queued by run " + by)
	_, err := p.storeResult(ctx, p.run.ID, j.Key, Result{Job: j.ID, End: end, At: p.now().UTC()})
	return err
}

// put stores an object.
func put(ctx context.Context, files jetstream.ObjectStore, name string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience(len(data)))
	defer cancel()
	_, err := files.PutBytes(ctx, name, data)
	return err
}

// store stores what workers need of a run.
func (q *Queue) store(ctx context.Context, r *Run, contents func(path string) ([]byte, error)) error {
	stored := map[string]bool{}
	for _, f := range r.Files {
		path, sum := f.Path, f.SHA256
		if sum == "" || stored[sum] {
			continue
		}
		stored[sum] = true
		name := inputName(sum)
		if _, err := q.files.GetInfo(ctx, name); err == nil {
			continue
		} else if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return fmt.Errorf("store %s: %w", path, err)
		}
		data, err := contents(path)
		if err == nil && hashOf(data) != sum {
			err = errors.New("it has changed since the plan was loaded")
		}
		if err == nil {
			err = put(ctx, q.files, name, data)
		}
		if err != nil {
			return fmt.Errorf("store %s: %w", path, err)
		}
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = put(ctx, q.files, runName(r.ID), text)
	}
	if err == nil {
		err = q.budgets.open(ctx, r)
	}
	if err == nil {
		classes := map[string]bool{}
		for _, j := range r.Jobs {
			if c := r.class(j); !classes[c] && err == nil {
				classes[c] = true
				err = q.openClass(ctx, c, r.Lease, j.Requires)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("store run %s: %w", r.ID, err)
	}
	return nil
}

// inFlight is how many jobs are queued at the same time: the client refuses thousands.
const inFlight = 256

// pending is a job that is being queued.
type pending struct {
	job  Job
	sent jetstream.PubAckFuture
}

// send queues a job, without waiting for the server.
func (p posting) send(j Job) (pending, error) {
	text, err := json.Marshal(order{Run: p.run.ID, Key: j.Key})
	if err != nil {
		return pending{}, err
	}
	msg := &nats.Msg{Subject: p.subjects.job(p.run.class(j), j.Key), Data: text, Header: nats.Header{}}
	// A run with another lease, or where the job has other requirements, has it in another class.
	msg.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, p.subjects.job("*", j.Key))
	sent, err := p.js.PublishMsgAsync(msg, jetstream.WithMsgID(j.Key), jetstream.WithExpectLastSequencePerSubject(0))
	return pending{j, sent}, err
}

// sent waits for the server, and returns the run that has queued the job.
func (p posting) sent(ctx context.Context, job pending) (by string, err error) {
	for {
		select {
		case ack := <-job.sent.Ok():
			if !ack.Duplicate {
				return p.run.ID, nil
			}
		case err = <-job.sent.Err():
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		by, _, found := p.queued(ctx, job.job)
		switch {
		case found != nil:
			return "", found
		case by != "":
			return by, nil
		case err != nil && !isFull(err) && !isConflict(err) && !temporary(err):
			return "", err
		}
		pause(ctx) // it has just ended, or the server is restarting
		if job, err = p.send(job.job); err != nil {
			return "", err
		}
	}
}

// waiting returns the subjects of the jobs in the queue whose class and key match, by the key.
func (q *Queue) waiting(ctx context.Context, match string) (map[string]string, error) {
	all := map[string]string{}
	err := retry(ctx, func(ctx context.Context) error {
		info, err := q.jobs.Info(ctx, jetstream.WithSubjectFilter(q.name+".job."+match))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			all[subject[strings.LastIndexByte(subject, '.')+1:]] = subject
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the jobs in the queue: %w", err)
	}
	return all, nil
}

// queued returns the run that has queued a job that has not ended, and the sequence number of the
// job's message; "" for none.
func (q *Queue) queued(ctx context.Context, j Job) (run string, seq uint64, err error) {
	waiting, err := q.waiting(ctx, "*."+j.Key)
	if err != nil || len(waiting) == 0 {
		return "", 0, err
	}
	return q.queuedAs(ctx, waiting[j.Key], j)
}

// queuedAs is like queued for a job whose message has that subject.
func (q *Queue) queuedAs(ctx context.Context, subject string, j Job) (run string, seq uint64, err error) {
	var msg *jetstream.RawStreamMsg
	err = retry(ctx, func(ctx context.Context) error {
		msg, err = q.jobs.GetLastMsgForSubject(ctx, subject)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("look for job %s in the queue: %w", j.ID, err)
	}
	var o order
	if err = json.Unmarshal(msg.Data, &o); err == nil && !isName(o.Run) {
		err = fmt.Errorf("invalid run %q", o.Run)
	}
	if err != nil {
		return "", 0, fmt.Errorf("message of job %s: %w, which a worker removes: %w", j.ID, ErrInvalid, err)
	}
	return o.Run, msg.Sequence, nil
}

// ready queues a job if all jobs that it needs have ended and the run was not cancelled. It
// may be queued already.
func (p posting) ready(ctx context.Context, j Job) error {
	if why, err := p.Cancelled(ctx, p.run.ID); err != nil || why != "" {
		return err
	}
	for _, key := range slices.Backward(j.Needs) { // the last ones end last
		if _, found, err := p.Result(ctx, p.run.ID, key); err != nil || !found {
			return err
		}
	}
	if _, found, err := p.Result(ctx, p.run.ID, j.Key); err != nil || found {
		return err
	}
	sent, err := p.send(j)
	if err != nil {
		return err
	}
	by, err := p.sent(ctx, sent)
	if err == nil && by != p.run.ID {
		if err = p.skip(ctx, j, by); err == nil {
			err = p.needing(ctx, j.Key)
		}
	}
	return err
}

// needing queues the jobs that waited for a job.
func (p posting) needing(ctx context.Context, key string) error {
	for _, i := range p.run.indexed().needed[key] {
		j := p.run.Jobs[i]
		if err := p.ready(ctx, j); err != nil {
			return fmt.Errorf("queue job %s, which needs one that has ended: %w", j.ID, err)
		}
	}
	return nil
}

// openClass creates the consumer of a class of jobs.
func (q *Queue) openClass(ctx context.Context, class string, lease time.Duration, requires [][]string) error {
	text, err := json.Marshal(requires)
	if err != nil {
		return err
	}
	_, err = q.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: class, FilterSubject: q.subjects.job(class, "*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease,
		MaxDeliver: -1, MaxAckPending: -1, // deliveries are counted by the log of a job, which knows those that don't count
		Metadata: map[string]string{"requires": string(text)},
	})
	return err
}
