package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Claim is a job that this worker runs, until Finish, Return or the loss of its lease.
type Claim struct {
	Run      *Run
	Job      Job
	Delivery int        // from 1
	Earlier  []Delivery // that did not end the job
	Log      []byte     // events of earlier deliveries

	q     *Queue
	msg   jetstream.Msg
	lease context.Context //nolint:containedctx // ends with the claim
	end   context.CancelCauseFunc
	job   context.Context //nolint:containedctx // ends with the lease, or when the run is cancelled
	stop  context.CancelCauseFunc

	beats sync.WaitGroup // heartbeats and the writer

	mu      sync.Mutex
	wake    *sync.Cond
	rest    []byte // that is not stored yet
	writing bool
	closed  bool
	fault   error

	last  uint64 // sequence number of the last message of the log
	count int    // messages of this delivery
}

// Context ends when the lease is lost or the run is cancelled; see [ErrLost] and
// [ErrCancelled].
func (c *Claim) Context() context.Context { return c.job }

// Cancel ends the claim's context because the run was cancelled. The lease stays.
func (c *Claim) Cancel() { c.stop(ErrCancelled) }

// Counted is the number of earlier deliveries that count.
func (c *Claim) Counted() (n int) {
	for _, d := range c.Earlier {
		if !d.Free {
			n++
		}
	}
	return n
}

// refusedFor is how long a job stays with the other workers after one has refused its run.
const refusedFor = 5 * time.Second

// claim makes a claim of a delivered message. It returns nil if the job has ended, or if the
// worker does not accept its run.
func (q *Queue) claim(ctx context.Context, msg jetstream.Msg, by *Claims) (*Claim, error) {
	var o order
	if err := json.Unmarshal(msg.Data(), &o); err != nil {
		return nil, errors.Join(fmt.Errorf("invalid message in the queue: %w", err), msg.TermWithReason("invalid"))
	}
	r, err := q.cachedRun(ctx, o.Run)
	if err != nil {
		return nil, err
	}
	j, found := r.Job(o.Key)
	if !found {
		return nil, errors.Join(fmt.Errorf("run %s has no job %s", o.Run, o.Key), msg.TermWithReason("unknown job"))
	}
	c := &Claim{Run: r, Job: j, q: q, msg: msg}
	c.wake = sync.NewCond(&c.mu)
	if _, ended, err := q.Result(ctx, r.ID, j.Key); err != nil || ended {
		if ended { // its worker was killed before it said so
			err = errors.Join(q.postNeeding(ctx, r, j.Key), c.ack(ctx))
		}
		return nil, err
	}
	if err := by.accept(ctx, r); err != nil {
		return nil, msg.NakWithDelay(refusedFor)
	}
	c.lease, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	c.job, c.stop = context.WithCancelCause(c.lease)
	began := q.now()
	if err := c.open(ctx, by.worker); err != nil {
		c.end(err)
		return nil, err
	}
	if err := q.chargeEarlier(ctx, c); err != nil {
		c.end(err)
		return nil, err
	}
	if why, err := q.Cancelled(ctx, r.ID); err != nil {
		c.end(err)
		return nil, err
	} else if why != "" {
		c.Cancel()
	}
	c.beats.Go(func() { c.heartbeats(began) })
	c.beats.Go(c.writer)
	return c, nil
}

// open appends the first message of the delivery to the job's log, which fences the delivery
// before.
func (c *Claim) open(ctx context.Context, worker string) error {
	for {
		l, err := c.q.readLog(ctx, c.Run.ID, c.Job.Key)
		if err != nil {
			return err
		}
		c.Delivery, c.Earlier, c.last, c.count = l.delivery()+1, l.deliveries, l.last, 0
		c.Log = l.text[:bytes.LastIndexByte(l.text, '\n')+1] // without a line that is not complete
		header := nats.Header{}
		header.Set(headerWorker, worker)
		header.Set(headerSize, strconv.Itoa(len(c.Log)))
		err = c.append(ctx, header, nil)
		if !errors.Is(err, ErrLost) {
			return err
		}
		// A worker that lost its lease has appended something; it can't any more once this is stored.
	}
}

// append appends a message to the job's log. The error is ErrLost if another worker has
// appended one.
func (c *Claim) append(ctx context.Context, header nats.Header, data []byte) error {
	c.count++
	header.Set(headerDelivery, strconv.Itoa(c.Delivery))
	header.Set(headerMessage, strconv.Itoa(c.count))
	subject := c.q.logSubject(c.Run.ID, c.Job.Key)
	return retry(ctx, func(ctx context.Context) error {
		ack, err := c.q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: data}, jetstream.WithExpectLastSequencePerSubject(c.last))
		if err == nil {
			c.last = ack.Sequence
			return nil
		}
		if !isConflict(err) {
			return err
		}
		// The response to an earlier try may have been lost.
		msg, found := c.q.logs.GetLastMsgForSubject(ctx, subject)
		switch {
		case errors.Is(found, jetstream.ErrMsgNotFound):
			return ErrLost // removed
		case found != nil:
			return found
		case messageOf(msg.Header) == messageOf(header) && msg.Header.Get(headerWorker) == header.Get(headerWorker):
			c.last = msg.Sequence
			return nil
		}
		return ErrLost
	})
}

// Append appends a line to the events of the job. With durable it returns when all lines are
// stored. Its error is that of the first line that could not be stored.
func (c *Claim) Append(line []byte, durable bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, line...)
	c.wake.Broadcast()
	for durable && c.fault == nil && (len(c.rest) > 0 || c.writing) {
		c.wake.Wait()
	}
	return c.fault
}

// writer stores lines in the background: those that are added while a message is on its way
// are the next one.
func (c *Claim) writer() {
	most := int(c.q.conn.MaxPayload()) - 4096 // headers count, too
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wake.Broadcast()
	for {
		for len(c.rest) == 0 && !c.closed {
			c.wake.Wait()
		}
		if len(c.rest) == 0 || c.fault != nil {
			return
		}
		data := c.rest[:min(len(c.rest), most)]
		c.rest = c.rest[len(data):]
		c.writing = true
		c.mu.Unlock()
		err := c.append(c.lease, nats.Header{}, data)
		c.mu.Lock()
		c.writing = false
		if err != nil {
			c.fault = fmt.Errorf("store events in the queue: %w", err)
			c.end(ErrLost)
			return
		}
		c.wake.Broadcast()
	}
}

// heartbeats renews the lease until the claim ends. The lease is lost when no heartbeat
// succeeded for half of its time, or the process did not run for that long.
func (c *Claim) heartbeats(last time.Time) {
	lease := c.Run.Lease
	tick := time.NewTicker(lease / 12)
	defer tick.Stop()
	last = last.Round(0) // wall time: the monotonic clock does not advance while a machine sleeps
	checked := last
	for {
		now := c.q.now().Round(0)
		if now.Sub(last) > lease/2 || now.Sub(checked) > lease/2 {
			c.end(ErrLost)
			return
		}
		checked = now
		if now.Sub(last) >= lease/6 {
			ctx, cancel := context.WithTimeout(c.lease, lease/6)
			_, err := c.q.conn.RequestWithContext(ctx, c.msg.Reply(), []byte("+WPI"))
			cancel()
			if err == nil {
				last = now
			}
		}
		select {
		case <-c.lease.Done():
			return
		case <-tick.C:
		}
	}
}

// Finish stores the result of the job with its files, and takes the job out of the queue. The
// error is ErrLost if the lease was lost, or another worker has stored a result.
func (c *Claim) Finish(ctx context.Context, result Result, files []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	result.Delivery, result.Job = c.Delivery, c.Job.ID
	if len(files) > 0 {
		result.Files = fmt.Sprintf("files/%s/%s/%d", c.Run.ID, c.Job.Key, c.Delivery)
		err := retry(ctx, func(ctx context.Context) error {
			_, err := c.q.files.PutBytes(ctx, result.Files, files)
			return err
		})
		if err != nil {
			return fmt.Errorf("store the files of job %s: %w", c.Job.ID, err)
		}
	}
	stored, err := c.q.storeResult(ctx, c.Run.ID, c.Job.Key, result)
	if err != nil {
		return err
	}
	if !stored {
		return ErrLost
	}
	if err := errors.Join(c.release(ctx, result.End.CostUSD), c.q.postNeeding(ctx, c.Run, c.Job.Key)); err != nil {
		return err // delivered again, which repeats this
	}
	err = c.ack(ctx)
	c.close(err)
	return err
}

// Return gives the job back to the queue, for another worker, which gets it after delay. free
// tells that the job is not at fault: then it does not count as a delivery.
func (c *Claim) Return(ctx context.Context, why string, free bool, delay time.Duration) error {
	if err := c.flush(); err != nil {
		return err
	}
	header := nats.Header{}
	header.Set(headerReturn, why)
	if free {
		header.Set(headerFree, "true")
	}
	err := errors.Join(c.append(ctx, header, nil), c.release(ctx, nil), c.msg.NakWithDelay(delay), c.q.conn.FlushTimeout(connectTime))
	c.close(err)
	return err
}

// Abandon ends a claim whose lease is lost.
func (c *Claim) Abandon() { c.close(ErrLost) }

// flush stores all events and ends the writer.
func (c *Claim) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.wake.Broadcast()
	for c.fault == nil && (len(c.rest) > 0 || c.writing) {
		c.wake.Wait()
	}
	return c.fault
}

// close ends the claim and waits for its goroutines.
func (c *Claim) close(cause error) {
	c.end(cause)
	c.mu.Lock()
	c.closed = true
	c.wake.Broadcast()
	c.mu.Unlock()
	c.beats.Wait()
}

// ack takes the job out of the queue.
func (c *Claim) ack(ctx context.Context) error {
	err := retry(ctx, c.msg.DoubleAck)
	if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return nil
	}
	return err
}
