package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Claims claims jobs for a worker.
type Claims struct {
	q      *Queue
	worker string
	has    map[string]bool // variables
	wake   chan struct{}
	sub    *nats.Subscription

	consumers map[string]jetstream.Consumer // by class
	listed    time.Time                     // when the classes were listed; zero to list them now
	lacks     map[string]string             // by class: the variables that this worker lacks; "" for none
	yielded   map[string]time.Time          // by class: when the worker last left its jobs to others
	asked     time.Time                     // of Lacks: when it asked the server
	waiting   []string                      // of Lacks: its last result
	late      bool                          // the server has not responded to a request for a job in time
	looked    int                           // how many jobs were offered since Next waited, or since one was claimed
}

// Claims returns the claims of a worker with an id. has are the variables of its
// environment: it is offered only jobs whose variables it has.
func (q *Queue) Claims(worker string, has map[string]bool) (*Claims, error) {
	c := &Claims{q: q, worker: worker, has: has, wake: make(chan struct{}, 1), consumers: map[string]jetstream.Consumer{}, lacks: map[string]string{}, yielded: map[string]time.Time{}}
	var err error
	c.sub, err = q.conn.Subscribe(q.name+".job.>", func(*nats.Msg) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	})
	return c, err
}

// Close ends the claims that Next could make.
func (c *Claims) Close() { c.sub.Unsubscribe() } //nolint:errcheck // it ends with the connection

// poll is how often a worker asks for jobs when it hears of none, because those of workers that were
// killed are delivered again without a message to others, and how often it lists the classes.
const poll = time.Second

// Next waits for a job. It returns nil without an error when none is offered for idle.
func (c *Claims) Next(ctx context.Context, idle time.Duration) (*Offer, error) {
	began := c.q.now()
	for {
		if c.looked < refusals {
			offer, err := c.try(ctx)
			if offer != nil || stops(err) {
				return offer, err
			}
		}
		c.looked = 0
		if c.q.now().Sub(began) >= idle {
			return nil, nil
		}
		select {
		case <-c.wake:
			c.listed = time.Time{} // the job may be of a new class
		case <-time.After(min(poll, max(idle-c.q.now().Sub(began), time.Millisecond))):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// stops reports whether an error of one job or request stops the others.
func stops(err error) bool {
	return err != nil && !temporary(err) && !errors.Is(err, ErrLost) && !errors.Is(err, ErrInvalid)
}

// try returns a job if there is one.
func (c *Claims) try(ctx context.Context) (*Offer, error) {
	if c.q.now().Sub(c.listed) >= poll {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
	}
	if len(c.consumers) > 1 { // a class without jobs does not delay those of others
		offer, err := c.tryAll(ctx, func(j jetstream.Consumer) (jetstream.MessageBatch, error) { return j.FetchNoWait(1) })
		if offer != nil || err != nil {
			return offer, err
		}
	}
	return c.tryAll(ctx, func(j jetstream.Consumer) (jetstream.MessageBatch, error) {
		return j.Fetch(1, jetstream.FetchMaxWait(time.Second/4))
	})
}

// tryAll tries all classes.
func (c *Claims) tryAll(ctx context.Context, fetch func(jetstream.Consumer) (jetstream.MessageBatch, error)) (*Offer, error) {
	var errs []error
	for class, consumer := range c.consumers {
		if c.lacks[class] != "" || c.yields(class) {
			continue
		}
		offer, err := c.tryClass(ctx, func() (jetstream.MessageBatch, error) { return fetch(consumer) })
		if offer != nil || ctx.Err() != nil {
			return offer, err
		}
		if err != nil { // the other classes don't wait for this one
			c.renew(class)
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

// renew gets a class from the server again, after an error.
func (c *Claims) renew(class string) {
	delete(c.consumers, class)
	c.listed = time.Time{}
}

// refusals is how many jobs a worker looks at to find one that it accepts, before it waits.
const refusals = 100

// A worker that has refused a job claims none of its class for a while, and does so from time to
// time: otherwise it could get the job again and again, before a worker that accepts it.
const (
	yieldTime  = 2 * time.Second
	yieldEvery = 10 * time.Second
)

// yield begins such a time, unless the last one was a moment ago.
func (c *Claims) yield(class string) bool {
	now := c.q.now()
	if now.Sub(c.yielded[class]) < yieldEvery {
		return false
	}
	c.yielded[class] = now
	return true
}

// yields reports whether the worker leaves the jobs of a class to others now.
func (c *Claims) yields(class string) bool { return c.q.now().Sub(c.yielded[class]) < yieldTime }

// tryClass returns a job of a class.
func (c *Claims) tryClass(ctx context.Context, fetch func() (jetstream.MessageBatch, error)) (*Offer, error) {
	for range refusals {
		before := c.q.now()
		batch, err := fetch()
		if err != nil {
			return nil, err
		}
		msg := <-batch.Messages()
		if msg == nil {
			if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
				return nil, err
			}
			c.late = c.late || c.q.now().Sub(before) >= time.Second // it responds after a quarter of a second without a job
			return nil, nil
		}
		offer, err := c.offer(ctx, msg, before)
		if offer != nil || err != nil {
			return offer, err
		}
	}
	return nil, nil
}

// refresh finds the classes of jobs.
func (c *Claims) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	list := c.q.jobs.ListConsumers(ctx)
	for info := range list.Info() {
		class := info.Name
		if c.consumers[class] != nil {
			continue
		}
		var requires [][]string
		if err := json.Unmarshal([]byte(info.Config.Metadata["requires"]), &requires); err != nil {
			continue // somebody else's
		}
		consumer, err := c.q.jobs.Consumer(ctx, class)
		if errors.Is(err, jetstream.ErrNotPullConsumer) || errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue // somebody else's, or just removed
		}
		if err != nil {
			return err
		}
		c.lacks[class], c.consumers[class] = c.missing(requires), consumer
	}
	err := list.Err()
	if err == nil {
		c.listed = c.q.now()
	}
	return err
}

// missing names the variables that the worker lacks; "" for none.
func (c *Claims) missing(requires [][]string) string {
	var lacks []string
	for _, any := range requires {
		if !slices.ContainsFunc(any, func(name string) bool { return c.has[name] }) {
			lacks = append(lacks, strings.Join(any, " or "))
		}
	}
	return strings.Join(lacks, ", ")
}

// Wait reports whether the server has jobs that this worker may claim. Next also returns none when the server responds late;
// then it may have delivered a job to nobody, which is delivered again after the lease.
func (c *Claims) Wait(ctx context.Context) (bool, error) {
	if err := c.refresh(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for class, consumer := range c.consumers {
		if c.lacks[class] != "" || c.q.now().Sub(c.yielded[class]) < yieldEvery {
			continue
		}
		info, err := consumer.Info(ctx)
		if err == nil && (info.NumPending > 0 || c.late && info.NumAckPending > 0) || err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// Lacks lists what variables the worker lacks for jobs that wait, or did a moment ago.
func (c *Claims) Lacks(ctx context.Context) []string {
	if c.q.now().Sub(c.asked) < poll {
		return c.waiting
	}
	c.asked = c.q.now()
	var all []string
	for class, lacks := range c.lacks {
		if lacks == "" {
			continue
		}
		consumer := c.consumers[class]
		if consumer == nil {
			continue
		}
		if info, err := consumer.Info(ctx); err == nil && info.NumPending > 0 {
			all = append(all, lacks)
		}
	}
	slices.Sort(all)
	c.waiting = slices.Compact(all)
	return c.waiting
}
