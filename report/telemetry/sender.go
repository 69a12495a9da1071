package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// sender makes the requests of the SDK to one endpoint. It serves one request at a time.
type sender struct {
	*endpoint
	next  http.RoundTripper
	agent string // User-Agent

	// Of the last request.
	failure     error // without texts of the server and secrets of the URL
	unreachable bool  // no server responded
}

// firstRetry and maxRetry are the pauses after which the SDK sends again what a server can't
// accept now.
const firstRetry, maxRetry = 500 * time.Millisecond, 5 * time.Second

func transport(e *endpoint, proxy func(*http.Request) (*url.URL, error)) http.RoundTripper {
	return &http.Transport{
		Proxy: proxy, ForceAttemptHTTP2: true, TLSClientConfig: e.tls,
		DialContext: (&net.Dialer{Timeout: defaultTimeout}).DialContext, TLSHandshakeTimeout: defaultTimeout,
	}
}

// client returns the client of HTTP, which follows no redirect: it could lead to a server that
// must not have the headers.
func (s *sender) client() *http.Client {
	return &http.Client{
		Transport: s, Timeout: s.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// withAgent returns the headers and the User-Agent.
func (s *sender) withAgent() map[string]string {
	all := map[string]string{"User-Agent": s.agent}
	maps.Copy(all, s.headers)
	return all
}

// credentials overrides what the SDK reads from the variables.
func (s *sender) credentials() credentials.TransportCredentials {
	if s.insecure {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(s.tls)
}

func (s *sender) dial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithUserAgent(s.agent), grpc.WithUnaryInterceptor(s.call)}
}

// traces returns the exporter of spans.
func (s *sender) traces(ctx context.Context) (sdktrace.SpanExporter, error) {
	if s.protocol == overGRPC {
		options := []otlptracegrpc.Option{
			otlptracegrpc.WithEndpoint(s.address), otlptracegrpc.WithTLSCredentials(s.credentials()), otlptracegrpc.WithHeaders(s.headers),
			otlptracegrpc.WithTimeout(0), otlptracegrpc.WithDialOption(s.dial()...),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: maxRetry}),
		}
		if s.gzip {
			options = append(options, otlptracegrpc.WithCompressor("gzip"))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	compression, encoding := otlptracehttp.NoCompression, otlptracehttp.EncodingProtobuf
	if s.gzip {
		compression = otlptracehttp.GzipCompression
	}
	if s.protocol == overJSON {
		encoding = otlptracehttp.EncodingJSON
	}
	return otlptrace.New(ctx, otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(s.url()), otlptracehttp.WithTLSClientConfig(s.tls), otlptracehttp.WithHeaders(s.withAgent()),
		otlptracehttp.WithCompression(compression), otlptracehttp.WithEncoding(encoding), otlptracehttp.WithHTTPClient(s.client()),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: maxRetry})))
}

// metrics returns the exporter of metrics.
func (s *sender) metrics(ctx context.Context) (metric.Exporter, error) {
	if s.protocol == overGRPC {
		options := []otlpmetricgrpc.Option{
			otlpmetricgrpc.WithEndpoint(s.address), otlpmetricgrpc.WithTLSCredentials(s.credentials()), otlpmetricgrpc.WithHeaders(s.headers),
			otlpmetricgrpc.WithTimeout(0), otlpmetricgrpc.WithDialOption(s.dial()...),
			otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: maxRetry}),
		}
		if s.gzip {
			options = append(options, otlpmetricgrpc.WithCompressor("gzip"))
		}
		return otlpmetricgrpc.New(ctx, options...)
	}
	compression := otlpmetrichttp.NoCompression
	if s.gzip && s.protocol != overJSON {
		compression = otlpmetrichttp.GzipCompression
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.url()), otlpmetrichttp.WithTLSClientConfig(s.tls), otlpmetrichttp.WithHeaders(s.withAgent()),
		otlpmetrichttp.WithCompression(compression), otlpmetrichttp.WithHTTPClient(s.client()),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: maxRetry}))
}

func (e *endpoint) url() string {
	u := url.URL{Scheme: "https", Host: e.address, Path: e.path}
	if e.insecure {
		u.Scheme = "http"
	}
	return u.String()
}

// send exports, and again while no server responds: the collector may start later. After the end of
// the run it does so once, immediately. The SDK repeats only what a server can't accept now.
func (s *sender) send(ctx context.Context, ended <-chan struct{}, export func(context.Context) error) error {
	for last := false; ; {
		s.failure, s.unreachable = nil, false
		err := export(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", s.address, context.Cause(ctx))
		case s.failure == nil:
			return fmt.Errorf("%s: %w", s.address, partial(err))
		case !s.unreachable || last:
			return fmt.Errorf("%s: %w", s.address, s.failure)
		}
		select {
		case <-ended:
			last = true
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// errPartial reports that the server has accepted a request without some spans or points.
var errPartial = errors.New("partially rejected")

var rejectedCount = regexp.MustCompile(`(\d+) (?:spans|metric data points) rejected\)`)

// partial returns errPartial for the SDK's error of a request that was accepted. The text
// of the server is not repeated.
func partial(err error) error {
	if n := rejectedCount.FindStringSubmatch(err.Error()); n != nil {
		return fmt.Errorf("%w: %s spans or data points", errPartial, n[1])
	}
	return errors.New("invalid response")
}

// call makes a request of gRPC.
func (s *sender) call(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var server peer.Peer
	err := invoke(ctx, method, req, reply, conn, append(options, grpc.Peer(&server))...)
	if s.failure, s.unreachable = nil, false; err == nil {
		return nil
	}
	state := status.Convert(err)
	s.failure, s.unreachable = fmt.Errorf("status %v", state.Code()), server.Addr == nil
	if s.unreachable {
		message := state.Message() // the client's: it has the address only
		if _, cause, ok := strings.Cut(message, "Error while dialing: "); ok {
			message = strings.TrimSuffix(cause, `"`)
		}
		s.failure = errors.New(message)
		return status.Error(codes.FailedPrecondition, state.Message())
	}
	return err
}

// RoundTrip makes a request of HTTP.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	s.failure, s.unreachable = nil, false
	asJSON := s.protocol == overJSON && r.Header.Get("Content-Type") != "application/json"
	r = r.Clone(r.Context())
	r.URL.RawQuery = s.query
	if asJSON {
		if err := s.encode(r); err != nil {
			s.failure = errors.New("can't be encoded")
			return nil, err
		}
	}
	resp, err := s.next.RoundTrip(r)
	if err != nil {
		s.failure, s.unreachable = err, true
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		s.failure = fmt.Errorf("status %d", resp.StatusCode)
	}
	if asJSON {
		decode(resp)
	}
	return resp, nil
}

// encode converts metrics to JSON: the SDK can do so only with spans.
func (s *sender) encode(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var message collector.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &message); err != nil {
		return err
	}
	if body, err = (protojson.MarshalOptions{UseEnumNumbers: true}).Marshal(&message); err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(body) //nolint:errcheck // a buffer never fails
		z.Close()     //nolint:errcheck // as above
		body = packed.Bytes()
		r.Header.Set("Content-Encoding", "gzip")
	}
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return nil
}

// maxReply is the maximum length of a response that is converted.
const maxReply = 64 << 10

// decode converts a response in JSON to the form that the SDK reads.
func decode(resp *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // an error has no effect: the status decides
	resp.Body.Close()
	var message collector.ExportMetricsServiceResponse
	if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, &message) == nil {
		if converted, err := proto.Marshal(&message); err == nil {
			body = converted
			resp.Header.Set("Content-Type", "application/x-protobuf")
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
}
