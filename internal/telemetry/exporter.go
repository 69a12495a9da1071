package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/figures"
	"github.com/millhand/millhand/report"
)

// Options are those of an [Exporter].
type Options struct {
	Config  *Config
	Run     string // id
	Version string // of millhand
	Proxy   func(*http.Request) (*url.URL, error)

	// Job returns the report of a job; false if it is unknown.
	Job func(id string) (report.Job, bool)

	// Patience limits the wait for the endpoints at the end of the run.
	Patience time.Duration
}

const (
	maxQueue   = 4096     // jobs that have ended and were not sent
	maxUnsent  = 16 << 20 // bytes of requests that are sent again
	maxReply   = 64 << 10 // bytes of a response that are read
	retryAfter = 500 * time.Millisecond
)

// Exporter sends the telemetry of a run: the spans of a job after it has ended, the span of
// the run and the metrics after the run. It never delays the run: jobs wait in a queue, and
// what does not fit in it is lost. It is an [event.Sink] after the fold that has the jobs.
// The nil Exporter sends nothing.
type Exporter struct {
	Options
	source source
	client *http.Client
	ended  chan string // ids of jobs
	last   *report.Report
	cancel context.CancelCauseFunc
	done   chan struct{}

	lost int // jobs that were not queued; guarded by the stream

	// Of the goroutine.
	unsent  []request
	size    int // of unsent
	dropped int // requests
	fault   error
}

// request is a request that was not accepted yet.
type request struct {
	to   *endpoint
	body []byte
}

// New returns an exporter, which is finished by Finish; nil without a configuration. The end
// of the context does not stop it: the spans of jobs that a signal ends are sent.
func New(ctx context.Context, o Options) *Exporter {
	if o.Config == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	x := &Exporter{
		Options: o, source: source{o.Run, o.Version, o.Config.resource, o.Config.parent},
		ended: make(chan string, maxQueue), cancel: cancel, done: make(chan struct{}),
		client: &http.Client{
			// A redirect could lead to a server that must not have the headers.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy: o.Proxy, ForceAttemptHTTP2: true, DialContext: (&net.Dialer{Timeout: defaultTimeout}).DialContext, TLSHandshakeTimeout: defaultTimeout,
			},
		},
	}
	go x.run(ctx)
	return x
}

// Emit queues a job that has ended.
func (x *Exporter) Emit(e event.Event) error {
	if x == nil || e.Type != event.JobEnded || x.Config.traces == nil {
		return nil
	}
	select {
	case x.ended <- e.Job:
	default:
		x.lost++
	}
	return nil
}

// Finish sends what is left and the run, and waits until it was sent or the patience is
// exhausted, or the context ends that had not ended before. It returns a warning, "" if
// everything was accepted. No event may follow.
func (x *Exporter) Finish(ctx context.Context, r *report.Report) (warning string) {
	if x == nil {
		return ""
	}
	x.last = r
	defer x.cancel(nil)
	defer time.AfterFunc(x.Patience, func() { x.cancel(fmt.Errorf("not finished %v after the run", x.Patience)) }).Stop()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })()
	}
	close(x.ended)
	<-x.done
	x.client.CloseIdleConnections()
	switch {
	case x.lost > 0:
		return "OpenTelemetry: the spans of " + figures.Count(x.lost, "job") + " were not sent: the queue was full"
	case x.dropped+len(x.unsent) > 0:
		return fmt.Sprintf("OpenTelemetry: %s not accepted: %v", figures.Count(x.dropped+len(x.unsent), "request"), x.fault)
	case x.fault != nil && errors.Is(x.fault, errPartial):
		return "OpenTelemetry: " + x.fault.Error()
	}
	return ""
}

// run sends what is queued, until the queue is closed, and then the run.
func (x *Exporter) run(ctx context.Context) {
	defer close(x.done)
	for id := range x.ended {
		if ctx.Err() != nil {
			x.drop(context.Cause(ctx))
		} else if j, ok := x.Job(id); ok {
			x.sendSpans(ctx, jobSpans(x.Run, x.source.parent, &j))
		}
	}
	x.sendSpans(ctx, []span{runSpan(x.last, x.source.parent)})
	if x.Config.metrics != nil {
		x.queue(x.Config.metrics, x.source.metrics(metricsOf(x.last)))
	}
	for busy := x.flush(ctx); busy; busy = x.flush(ctx) {
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return
		}
	}
}

func (x *Exporter) sendSpans(ctx context.Context, spans []span) {
	if x.Config.traces == nil {
		return
	}
	for _, t := range x.source.traces(spans) {
		x.queue(x.Config.traces, t)
	}
	x.flush(ctx)
}

func (x *Exporter) queue(to *endpoint, message any) {
	body, err := to.encode(message)
	if err == nil && x.size+len(body) > maxUnsent {
		err = errors.New("too many earlier requests were not accepted")
	}
	if err != nil {
		x.drop(err)
		return
	}
	x.unsent, x.size = append(x.unsent, request{to, body}), x.size+len(body)
}

// drop counts a request that is not sent. The first error is reported.
func (x *Exporter) drop(err error) {
	x.dropped++
	if x.fault == nil {
		x.fault = err
	}
}

// flush sends the requests in their order. If the server can't accept one now, it and the
// following ones are sent by the next flush, and busy reports whether the server responded.
func (x *Exporter) flush(ctx context.Context) (busy bool) {
	for len(x.unsent) > 0 {
		r := x.unsent[0]
		again, err := x.post(ctx, r)
		if again {
			if x.fault == nil {
				x.fault = err
			}
			return errors.Is(err, errBusy)
		}
		x.unsent, x.size = x.unsent[1:], x.size-len(r.body)
		switch {
		case err == nil:
		case errors.Is(err, errPartial):
			x.fault = err
		default:
			x.drop(err)
		}
	}
	return false
}

var (
	errBusy    = errors.New("the server can't accept it now")
	errPartial = errors.New("partially rejected")
)

// encode returns the body of a request.
func (e *endpoint) encode(message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil || !e.gzip {
		return body, err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return packed.Bytes(), nil
}

// post sends a request once. again reports whether it may be accepted later.
func (x *Exporter) post(ctx context.Context, r request) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.to.timeout, fmt.Errorf("no response after %v", r.to.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.to.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return false, errors.New("invalid URL") // the error quotes it
	}
	req.Header = r.to.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "millhand/"+x.Version)
	if r.to.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := x.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		var inner *url.Error // it quotes the URL, which may have a key
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return true, fmt.Errorf("%s: %w", r.to.url.Host, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // an error has no effect: the status decides
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, fmt.Errorf("%s: status %d: %w", r.to.url.Host, resp.StatusCode, errBusy)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return false, fmt.Errorf("%s: status %d", r.to.url.Host, resp.StatusCode)
	}
	return false, rejected(r.to.url.Host, body)
}

// rejected returns an error if the response reports that spans or points were rejected. Its
// message is a text of the server, and not repeated.
func rejected(host string, body []byte) error {
	var reply struct {
		Partial struct {
			Spans  json.Number `json:"rejectedSpans"`
			Points json.Number `json:"rejectedDataPoints"`
		} `json:"partialSuccess"`
	}
	json.Unmarshal(body, &reply) //nolint:errcheck // a body that is not JSON rejects nothing: the status is that of a success
	for _, n := range []json.Number{reply.Partial.Spans, reply.Partial.Points} {
		if n != "" && n != "0" {
			return fmt.Errorf("%s: %w: %s spans or data points", host, errPartial, n)
		}
	}
	return nil
}
