package telemetrytest

import (
	"context"
	"net/http"

	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Register adds the services of OTLP to a server of gRPC. Status is called without a request,
// and its status is that of HTTP: 503 is UNAVAILABLE, all others are UNAUTHENTICATED.
func (c *Collector) Register(s *grpc.Server) {
	traceservice.RegisterTraceServiceServer(s, spanService{c: c})
	metricservice.RegisterMetricsServiceServer(s, metricService{c: c})
}

type spanService struct {
	traceservice.UnimplementedTraceServiceServer
	c *Collector
}

// Export keeps spans.
func (s spanService) Export(ctx context.Context, r *traceservice.ExportTraceServiceRequest) (*traceservice.ExportTraceServiceResponse, error) {
	if err := s.c.called(ctx); err != nil {
		return nil, err
	}
	s.c.add(r.ResourceSpans, nil)
	return &traceservice.ExportTraceServiceResponse{}, nil
}

type metricService struct {
	metricservice.UnimplementedMetricsServiceServer
	c *Collector
}

// Export keeps metrics.
func (s metricService) Export(ctx context.Context, r *metricservice.ExportMetricsServiceRequest) (*metricservice.ExportMetricsServiceResponse, error) {
	if err := s.c.called(ctx); err != nil {
		return nil, err
	}
	s.c.add(nil, r.ResourceMetrics)
	return &metricservice.ExportMetricsServiceResponse{}, nil
}

// called counts a call, and returns its error.
func (c *Collector) called(ctx context.Context) error {
	c.mu.Lock()
	c.requests++
	n := c.requests
	sent, _ := metadata.FromIncomingContext(ctx)
	headers := http.Header{}
	for name, values := range sent {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	c.headers = append(c.headers, headers)
	c.mu.Unlock()
	if c.Status == nil {
		return nil
	}
	switch c.Status(n, nil) {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return status.Error(codes.Unavailable, "busy SECRET")
	default:
		return status.Error(codes.Unauthenticated, "refused SECRET")
	}
}
