package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of the messages of a job's log. Their data is one text, the events of the job, which
// messages divide anywhere. The result comes last: who can append it to the log can store it, and
// a delivery that finds it there stores it if that was not done.
const (
	headerDelivery = "Millhand-Delivery" // number of the delivery that appended it
	headerMessage  = "Millhand-Message"  // number of the message in that delivery
	headerWorker   = "Millhand-Worker"   // of the first message of a delivery
	headerSize     = "Millhand-Size"     // of the first message of a delivery: length of the text before it that is valid
	headerReturn   = "Millhand-Return"   // of the last message of a delivery that did not end the job: why
	headerFree     = "Millhand-Free"     // of the same: it does not count as a delivery
	headerEnd      = "Millhand-End"      // of the last message of a log: its data is the result of the job
)

// Delivery is one delivery of a job to a worker.
type Delivery struct {
	Number   int
	Worker   string
	At       time.Time
	Returned string // why the worker gave the job back; "" if it did not
	Free     bool   // it does not count
}

// jobLog is what the log of a job has.
type jobLog struct {
	text       []byte
	deliveries []Delivery
	last       uint64 // sequence number of the last message; 0 for none
	end        *Result
	size       int // of all messages, in bytes
}

// maxLog limits the log of a job, in bytes, in which a message without data counts, too: whoever writes to the server
// exhausts neither the memory nor the time of those who read it.
const maxLog = 512 << 20

// add adds a message. It ignores one that no worker appends: somebody else wrote it, who would
// otherwise stop everybody who reads the log.
func (l *jobLog) add(seq uint64, at time.Time, header nats.Header, data []byte) {
	l.last = seq
	if l.size += len(data) + 1<<10; l.size > maxLog {
		return
	}
	number, err := strconv.Atoi(header.Get(headerDelivery))
	if err != nil || l.end != nil {
		return
	}
	worker := header.Get(headerWorker)
	if worker == "" && (number != l.delivery() || number == 0) {
		return
	}
	if worker != "" {
		size, err := strconv.Atoi(header.Get(headerSize))
		if err != nil || size < 0 || size > len(l.text) || number != l.delivery()+1 {
			return
		}
		l.text = l.text[:size]
		l.deliveries = append(l.deliveries, Delivery{Number: number, Worker: worker, At: at})
	}
	if header.Get(headerEnd) == "" {
		l.text = append(l.text, data...)
	} else if end, err := parseResult(data); err == nil {
		l.end = &end
	}
	if why := header.Get(headerReturn); why != "" && len(l.deliveries) > 0 {
		d := &l.deliveries[len(l.deliveries)-1]
		d.Returned, d.Free = why, header.Get(headerFree) != ""
	}
}

func messageOf(header nats.Header) string {
	return header.Get(headerDelivery) + "/" + header.Get(headerMessage)
}

// delivery is the number of the last delivery; 0 for none.
func (l *jobLog) delivery() int {
	if len(l.deliveries) == 0 {
		return 0
	}
	return l.deliveries[len(l.deliveries)-1].Number
}

// readLog reads the log of a job.
func (q *Queue) readLog(ctx context.Context, run, key string) (*jobLog, error) {
	l, subject := &jobLog{}, q.subjects.log(run, key)
	for {
		var msg *jetstream.RawStreamMsg
		err := retry(ctx, func(ctx context.Context) (err error) {
			msg, err = q.logs.GetMsg(ctx, l.last+1, jetstream.WithGetMsgSubject(subject))
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return l, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of job %s: %w", key, err)
		}
		if l.add(msg.Sequence, msg.Time, msg.Header, msg.Data); l.size > maxLog {
			return nil, fmt.Errorf("read the log of job %s: %w: larger than %d bytes", key, ErrInvalid, maxLog)
		}
	}
}

// EachLog calls fn with the events of each job of a run that has any, by its key, and with the result that its log has,
// nil for none: the stored one can be somebody else's. Only logs without a result are in memory at the same time.
func (q *Queue) EachLog(ctx context.Context, r *Run, fn func(key string, text []byte, end *Result) error) error {
	logs := map[string]*jobLog{}
	for _, j := range r.Jobs {
		logs[j.Key] = &jobLog{}
	}
	prefix := q.subjects.log(r.ID, "")
	err := q.each(ctx, q.logs, prefix+"*", func(seq uint64, at time.Time, subject string, header nats.Header, data []byte) error {
		key := subject[len(prefix):]
		l := logs[key]
		if l == nil || l.end != nil {
			return nil // of no job of the run, or after the result
		}
		if l.add(seq, at, header, data); l.end == nil {
			return nil
		}
		text := l.text
		l.text = nil
		return fn(key, text, l.end)
	})
	if err != nil {
		return fmt.Errorf("read the events of run %s: %w", r.ID, err)
	}
	for _, j := range r.Jobs {
		if l := logs[j.Key]; l.last > 0 && l.end == nil {
			if err := fn(j.Key, l.text, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// each calls fn for each message with a subject, in the order of the stream.
func (q *Queue) each(ctx context.Context, s jetstream.Stream, subject string, fn func(seq uint64, at time.Time, subject string, header nats.Header, data []byte) error) error {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return err
	}
	var left uint64
	for _, n := range info.State.Subjects {
		left += n
	}
	if left == 0 {
		return nil
	}
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for pending := left; pending > 0; {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err == nil {
			pending = min(pending-1, meta.NumPending) // fewer if some were removed meanwhile; those that are added don't count
			err = fn(meta.Sequence.Stream, meta.Timestamp, msg.Subject(), msg.Headers(), msg.Data())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
