package queue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/proc/failpoint"
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

	last   uint64   // sequence number of the last message of the log
	count  int      // messages of this delivery
	stored [32]byte // SHA-256 of its files that are stored
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

// A job stays with the other workers after one has refused its run: the longer, the more often
// that happened, except when this worker leaves all of its class to them anyway.
const (
	refusedFor     = 5 * time.Second
	refusedForMost = 20 * time.Second
	refusedBriefly = time.Second / 4
)

// Offer is a job that was delivered to this worker, which holds its lease until it either claims the job or leaves it. It
// has to do one of them.
type Offer struct {
	Run *Run
	Job Job

	claim *Claim
	by    *Claims
}

// offer makes an offer of a message that was delivered after a time. It returns nil if the job has ended.
func (c *Claims) offer(ctx context.Context, msg jetstream.Msg, after time.Time) (*Offer, error) {
	r, j, err := c.q.ordered(ctx, msg)
	if err != nil {
		return nil, err
	}
	o := &Offer{r, j, &Claim{Run: r, Job: j, q: c.q, msg: msg}, c}
	o.claim.open(ctx, after) // what follows may take longer than the lease
	result, ended, err := c.q.Result(ctx, r.ID, j.Key)
	if err == nil && !ended {
		c.looked++
		return o, nil
	}
	if ended { // its worker was killed before it took the job out of the queue
		err = o.claim.complete(ctx, result)
	}
	return nil, o.end(ctx, err)
}

// open holds the lease of a message that was delivered after a time.
func (c *Claim) open(ctx context.Context, after time.Time) {
	c.wake = sync.NewCond(&c.mu)
	c.lease, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	c.job, c.stop = context.WithCancelCause(c.lease)
	c.beats.Go(func() { c.heartbeats(c.lease, after) })
}

// Take claims the job. It returns nil without an error if there is nothing to do, or if an error stops no other job.
func (o *Offer) Take(ctx context.Context) (*Claim, error) {
	began, err := o.claim.begin(ctx, o.by)
	if began {
		o.by.looked = 0
		o.claim.beats.Go(o.claim.writer)
		return o.claim, nil
	}
	return nil, o.settle(ctx, err)
}

// Leave leaves the job to other workers, because this one doesn't run its run. An error stops all jobs.
func (o *Offer) Leave(ctx context.Context) error {
	if ctx.Err() != nil {
		return o.settle(ctx, context.Cause(ctx))
	}
	return o.settle(ctx, o.claim.refuse(o.by))
}

// settle ends an offer that was not claimed. After an error that stops no other job, Next waits.
func (o *Offer) settle(ctx context.Context, err error) error {
	if err = o.end(ctx, err); err != nil {
		o.by.renew(o.Run.class(o.Job))
		o.by.looked = refusals
	}
	if stops(err) {
		return err
	}
	return nil
}

// end ends an offer that was not claimed.
func (o *Offer) end(ctx context.Context, err error) error {
	if errors.Is(err, ErrInvalid) { // no worker can run the job
		err = o.claim.spoiled(ctx, err)
	}
	if err != nil {
		err = errors.Join(err, o.claim.giveUp(ctx, err))
	}
	o.claim.close(ErrLost)
	return err
}

// spoiled ends a job that can't be run because a record that it needs is invalid.
func (c *Claim) spoiled(ctx context.Context, why error) error {
	result := invalidResult(c.Job.ID, c.q.now().UTC(), why)
	if _, err := c.q.storeResult(ctx, c.Run.ID, c.Job.Key, result); err != nil {
		return err
	}
	return c.complete(ctx, result)
}

// ordered returns the job that a message orders. It removes messages that order none.
func (q *Queue) ordered(ctx context.Context, msg jetstream.Msg) (*Run, Job, error) {
	var o order
	err := json.Unmarshal(msg.Data(), &o)
	if err != nil {
		return nil, Job{}, errors.Join(fmt.Errorf("%w: %w", ErrInvalid, err), msg.TermWithReason("invalid"))
	}
	r, err := q.cachedRun(ctx, o.Run)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalid) {
		return nil, Job{}, errors.Join(err, msg.TermWithReason("invalid run"))
	}
	if err != nil {
		return nil, Job{}, err
	}
	i := r.Index(o.Key)
	if i < 0 || msg.Subject() != q.subjects.job(r.class(r.Jobs[i]), o.Key) { // another subject has workers without its variables
		return nil, Job{}, errors.Join(fmt.Errorf("run %s has no job %q", r.ID, o.Key), msg.TermWithReason("unknown job"))
	}
	return r, r.Jobs[i], nil
}

// begin begins the delivery. It returns false without an error if the worker has nothing to do.
func (c *Claim) begin(ctx context.Context, by *Claims) (bool, error) {
	q := c.q
	held, done := c.held(ctx)
	defer done()
	end, err := c.first(held, by.worker)
	switch {
	case errors.Is(err, errOthers):
		return false, c.refuse(by)
	case errors.Is(err, ErrCancelled):
		return false, c.ack(ctx)
	}
	if err != nil {
		return false, err
	} else if end != nil { // its worker was killed before it stored the result
		if _, err := q.storeResult(ctx, c.Run.ID, c.Job.Key, *end); err != nil {
			return false, err
		}
		return false, c.complete(ctx, *end)
	}
	if err := q.chargeEarlier(held, c); err != nil {
		return false, err
	}
	why, err := q.Cancelled(held, c.Run.ID)
	if err != nil {
		return false, err
	}
	if why != "" {
		c.Cancel()
	}
	return true, nil
}

// refuse leaves the job to other workers.
func (c *Claim) refuse(by *Claims) error {
	delay := refusedFor
	if meta, err := c.msg.Metadata(); err == nil {
		delay = min(refusedFor<<min(max(meta.NumDelivered, 1)-1, 8), refusedForMost)
	}
	if by.yield(c.Run.class(c.Job)) {
		delay = refusedBriefly
	}
	if c.lease.Err() != nil {
		return ErrLost
	}
	c.close(ErrLost) // a heartbeat would end the delay
	return c.msg.NakWithDelay(delay)
}

// giveUp gives a job back that could not be claimed: this worker is being stopped, or the server
// has a fault.
func (c *Claim) giveUp(ctx context.Context, why error) error {
	var delay time.Duration
	if ctx.Err() == nil {
		delay = refusedFor // the other jobs of its class don't wait for it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	switch {
	case c.lease.Err() != nil:
		return nil
	case c.count > 0:
		return c.Return(ctx, why.Error(), true, delay)
	}
	c.close(ErrLost)
	return c.msg.NakWithDelay(delay)
}

// held returns a context that ends with ctx or with the lease.
func (c *Claim) held(ctx context.Context) (held context.Context, done func()) {
	held, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.lease, func() { cancel(ErrLost) })
	return held, func() {
		stop()
		cancel(nil)
	}
}

// first appends the first message of the delivery to the job's log, which fences the delivery
// before. If the log has the result, first returns that. A job of a cancelled run that has not begun does not.
func (c *Claim) first(ctx context.Context, worker string) (end *Result, err error) {
	for {
		l, err := c.q.readLog(ctx, c.Run.ID, c.Job.Key)
		if err != nil {
			return nil, err
		}
		if l.end != nil {
			return l.end, nil
		}
		if c.q.othersShould(ctx, c.Run, l, worker) {
			return nil, errOthers
		}
		if len(l.deliveries) == 0 { // Cancel may not have found the message, which was being delivered
			if why, err := c.q.Cancelled(ctx, c.Run.ID); err != nil || why != "" {
				return nil, cmp.Or(err, ErrCancelled)
			}
		}
		c.Delivery, c.Earlier, c.last, c.count = l.delivery()+1, l.deliveries, l.last, 0
		c.Log = l.text[:bytes.LastIndexByte(l.text, '\n')+1] // without a line that is not complete
		header := nats.Header{}
		header.Set(headerWorker, worker)
		header.Set(headerSize, strconv.Itoa(len(c.Log)))
		err = c.append(ctx, header, nil)
		if !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return nil, err
		}
		// A worker that lost its lease has appended something; it can't any more once this is stored.
	}
}

// errOthers is the error of a job that is left to other workers.
var errOthers = errors.New("left to other workers")

// othersShould reports whether the worker has just failed to start the job, and another one could
// try: otherwise a worker with a fault, which is idle, would use up the deliveries of the job while the
// others are busy.
func (q *Queue) othersShould(ctx context.Context, r *Run, l *jobLog, worker string) bool {
	if len(l.deliveries) == 0 {
		return false
	}
	last := l.deliveries[len(l.deliveries)-1]
	if last.Worker != worker || last.Returned == "" || last.Free || q.now().Sub(last.At) > leftToOthers {
		return false
	}
	workers, err := q.Workers(ctx)
	return err == nil && slices.ContainsFunc(workers, func(w Worker) bool {
		return w.ID != worker && w.Paused == "" && w.Refused[r.ID] == ""
	})
}

// leftToOthers is how long a job that a worker could not start is left to others. They may all lack
// variables that it requires.
const leftToOthers = 10 * time.Minute

// append appends a message to the job's log. The error is ErrLost if another worker has
// appended one.
func (c *Claim) append(ctx context.Context, header nats.Header, data []byte) error {
	c.count++
	header.Set(headerDelivery, strconv.Itoa(c.Delivery))
	header.Set(headerMessage, strconv.Itoa(c.count))
	subject := c.q.subjects.log(c.Run.ID, c.Job.Key)
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
	if c.closed && c.fault == nil {
		c.fault = errEnded
	}
	if c.fault != nil {
		return c.fault
	}
	c.rest = append(c.rest, line...)
	c.wake.Broadcast()
	for durable && c.fault == nil && (len(c.rest) > 0 || c.writing) {
		c.wake.Wait()
	}
	return c.fault
}

var errEnded = errors.New("store events in the queue: the claim has ended")

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
func (c *Claim) heartbeats(ctx context.Context, last time.Time) {
	lease := c.Run.Lease
	tick := time.NewTicker(lease / 12)
	defer tick.Stop()
	last = last.Round(0) // wall time: the monotonic clock does not advance while a machine sleeps
	checked := last
	for {
		now := c.q.now().Round(0)
		if back := now.Sub(checked); back < 0 { // the clock was set back
			last, checked = last.Add(back), now
		}
		if now.Sub(last) > lease/2 || now.Sub(checked) > lease/2 {
			c.end(ErrLost)
			return
		}
		checked = now
		if now.Sub(last) >= lease/6 {
			try, cancel := context.WithTimeout(ctx, lease/6)
			_, err := c.q.conn.RequestWithContext(try, c.msg.Reply(), []byte("+WPI"))
			cancel()
			if err == nil {
				last = now
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Finish stores the result of the job with its files, and removes the job from the queue. The
// error is ErrLost if the lease was lost, or another worker has stored a result.
func (c *Claim) Finish(ctx context.Context, result Result, files []byte) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	if err := c.storeResult(ctx, &result, files); err != nil {
		return err
	}
	err := c.complete(ctx, result)
	if err == nil {
		c.close(nil)
	}
	return err // delivered again, which repeats complete
}

// storeResult stores the result of the job with its files, while the lease lasts.
func (c *Claim) storeResult(ctx context.Context, result *Result, files []byte) error {
	ctx, done := c.held(ctx)
	defer done()
	result.Delivery, result.Job = c.Delivery, c.Job.ID
	if err := c.StoreFiles(ctx, files); err != nil {
		return err
	}
	if c.stored != [32]byte{} {
		result.Files = c.filesOf(c.Delivery)
	}
	text, err := json.Marshal(result)
	failpoint.Hit(failpoint.ResultBefore, "")
	if err == nil {
		err = c.append(ctx, nats.Header{headerEnd: {"true"}}, text)
	}
	if err != nil {
		return fmt.Errorf("store the result of job %s: %w", c.Job.ID, err)
	}
	failpoint.Hit(failpoint.ResultLogged, "")
	stored, err := c.q.storeResult(ctx, c.Run.ID, c.Job.Key, *result)
	failpoint.Hit(failpoint.ResultAfter, "")
	if err == nil && !stored {
		err = ErrLost
	}
	return err
}

// complete does what follows from a result, in an order in which a later delivery can repeat it.
func (c *Claim) complete(ctx context.Context, result Result) error {
	all := func(name string) bool { return strings.HasPrefix(name, c.Job.Key+"/") }
	if err := c.closeAccounts(ctx, result, all); err != nil && !errors.Is(err, ErrInvalid) {
		return err
	}
	if err := (posting{c.q, c.Run}).needing(ctx, c.Job.Key); err != nil {
		return err
	}
	return c.ack(ctx)
}

// Return gives the job back to the queue, for another worker, which gets it after delay. free
// means that the job is not at fault: then it does not count as a delivery.
func (c *Claim) Return(ctx context.Context, why string, free bool, delay time.Duration) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	header := nats.Header{}
	header.Set(headerReturn, cmp.Or(why, "no reason"))
	if free {
		header.Set(headerFree, "true")
	}
	held, done := c.held(ctx)
	defer done()
	err := c.append(held, header, nil)
	if err != nil {
		return err // another worker may have the job
	}
	own := holder(c.Job.Key, c.Delivery)
	err = c.closeAccounts(held, Result{}, func(name string) bool { return name == own })
	if c.lease.Err() != nil {
		return errors.Join(err, ErrLost)
	}
	c.close(ErrLost) // a heartbeat would end the delay
	return errors.Join(err, c.msg.NakWithDelay(delay), c.q.conn.FlushTimeout(connectTime))
}

// Abandon ends a claim whose lease is lost.
func (c *Claim) Abandon() { c.close(ErrLost) }

// flush stores all events and ends the writer.
func (c *Claim) flush(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wake.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.wake.Broadcast()
	for c.fault == nil && (len(c.rest) > 0 || c.writing) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
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

// ack removes the job from the queue.
func (c *Claim) ack(ctx context.Context) error {
	err := retry(ctx, c.msg.DoubleAck)
	if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return nil
	}
	return err
}
