package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/proc/clock"
)

// Options are the server and the credentials for it.
type Options struct {
	URL   string // nats://HOST:PORT or tls://HOST:PORT, several separated by commas
	Token string // "" for none, or for one in the URL
	Creds string // file with NATS credentials; "" for none
	CA    string // file with the certificates of authorities; "" for those of the system
	Cert  string // file with the certificate of this client; "" for none
	Key   string // file with its key
	Name  string // prefix of streams and buckets; "" for millhand

	Now func() time.Time
}

// Queue is a connection to a queue. It is safe for concurrent use.
type Queue struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	name     string
	subjects subjects
	now      func() time.Time
	jobs     jetstream.Stream
	logs     jetstream.Stream
	results  jetstream.Stream
	state    jetstream.KeyValue
	budgets  budgets
	files    jetstream.ObjectStore
	runs     sync.Map // of *Run, by id
}

// connectTime limits the first connection: later ones are retried until Close.
const connectTime = 10 * time.Second

// Open connects to a server, and creates the streams and buckets that are missing. Those that
// exist stay as their operator has configured them.
func Open(ctx context.Context, o Options) (*Queue, error) {
	options := []nats.Option{
		nats.Name("millhand"), nats.Timeout(connectTime), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
	}
	if o.Token != "" {
		options = append(options, nats.Token(o.Token))
	}
	if o.Creds != "" {
		options = append(options, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	conn, err := nats.Connect(o.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the queue at %s: %w", withoutUser(o.URL), err)
	}
	q := &Queue{conn: conn, name: o.Name, now: o.Now}
	if q.name == "" {
		q.name = "millhand"
	}
	q.subjects = subjects(q.name)
	if q.js, err = jetstream.New(conn); err == nil {
		err = q.create(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("set up the queue: %w", err)
	}
	return q, nil
}

// IsStarting reports whether Open failed because the server can't be reached or is not ready: it
// may be starting.
func IsStarting(err error) bool {
	var api *jetstream.APIError
	var network *net.OpError
	switch {
	case errors.As(err, &api):
		return api.Code == http.StatusServiceUnavailable && temporary(err)
	case errors.As(err, &network):
		return network.Op != "remote error" // of TLS: it refuses this client
	}
	for _, starting := range []error{nats.ErrNoServers, nats.ErrTimeout, context.DeadlineExceeded, io.EOF} {
		if errors.Is(err, starting) {
			return true
		}
	}
	return false
}

// withoutUser returns the URLs of servers without the user, the password or the token in them.
func withoutUser(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		if at, err := url.Parse(strings.TrimSpace(one)); err == nil {
			at.User = nil
			shown = append(shown, at.String())
		}
	}
	return strings.Join(shown, ", ")
}

// Close closes the connection.
func (q *Queue) Close() { q.conn.Close() }

// create creates what is missing.
func (q *Queue) create(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	stream := func(c jetstream.StreamConfig) jetstream.Stream {
		if err != nil {
			return nil
		}
		c.Name, c.Storage, c.AllowDirect = q.name+"-"+c.Name, jetstream.FileStorage, true
		var s jetstream.Stream
		if s, err = q.js.Stream(ctx, c.Name); errors.Is(err, jetstream.ErrStreamNotFound) {
			if s, err = q.js.CreateStream(ctx, c); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				s, err = q.js.Stream(ctx, c.Name) // another process has just created it
			}
		}
		return s
	}
	q.jobs = stream(jetstream.StreamConfig{
		Name: "jobs", Description: "jobs that wait for a worker or run", Subjects: []string{q.name + ".job.>"},
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		// The subject refuses a job that is in the queue: a longer window would refuse one that has ended, too.
		Duplicates: 100 * time.Millisecond,
	})
	q.logs = stream(jetstream.StreamConfig{
		Name: "logs", Description: "events of jobs", Subjects: []string{q.name + ".log.>"}, Compression: jetstream.S2Compression,
	})
	q.results = stream(jetstream.StreamConfig{
		Name: "results", Description: "results of jobs, one for each", Subjects: []string{q.name + ".result.>"},
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
	})
	if err != nil {
		return err
	}
	bucket := q.name + "-state"
	if q.state, err = q.js.KeyValue(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
		q.state, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, Description: "runs, budgets, cool-downs and workers"})
	}
	if err != nil {
		return err
	}
	q.budgets = budgets{q.state}
	bucket = q.name + "-files"
	if q.files, err = q.js.ObjectStore(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
		q.files, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Description: "inputs of runs, and files of jobs"})
	}
	return err
}

// The causes of a claim's context that ended.
var (
	ErrLost      = errors.New("the lease of the job is lost: another worker may run it")
	ErrCancelled = errors.New("the run was cancelled")
)

// The pause between two tries of a request to the server, which may be restarting.
const retryPause = 100 * time.Millisecond

// retry repeats a request until it does not fail for the connection or the server, or ctx
// ends.
func retry(ctx context.Context, request func(ctx context.Context) error) error {
	return retryEach(ctx, patience(0), request)
}

// patience is how long a request with so many bytes may take: at least one megabyte per second.
func patience(bytes int) time.Duration {
	return 5*time.Second + time.Duration(bytes>>20)*time.Second
}

// retryEach is retry with a time limit of each request.
func retryEach(ctx context.Context, limit time.Duration, request func(ctx context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, limit)
		err := request(try)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		case !temporary(err):
			return err
		}
		pause(ctx)
	}
}

// pause waits between two tries of a request, which notice that ctx has ended.
func pause(ctx context.Context) { _ = clock.Wait(ctx, retryPause) }

// temporary reports whether a request can succeed when it is repeated.
func temporary(err error) bool {
	var api *jetstream.APIError
	switch {
	case isFull(err):
		return false
	case errors.As(err, &api):
		return api.Code >= 500 && api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled && api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyExists),
		errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrBadObjectMeta),
		errors.Is(err, jetstream.ErrDigestMismatch), errors.Is(err, nats.ErrMaxPayload), errors.Is(err, context.Canceled),
		errors.Is(err, jetstream.ErrMsgAlreadyAckd), errors.Is(err, ErrLost):
		return false
	}
	return true
}

// isFull reports whether a subject already has its message.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject")
}

// isConflict reports whether the server refused a message because another one was the last.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
