package telemetry

import (
	"context"
	"crypto/sha256"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// ids makes the ids of the run with an id. As a generator of the SDK it returns the id that
// the context has.
type ids string

// idKey is the key of the next span's id in a context.
type idKey struct{}

// NewIDs returns the ids of a span without a parent, which is that of the run.
func (i ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	sum := i.hash("trace")
	copy(t[:], sum[:])
	return t, i.NewSpanID(ctx, t)
}

// NewSpanID returns the id of the span that is started with the context.
func (i ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(idKey{}).(trace.SpanID)
	return id
}

// span returns the id of the span of something, which a kind and names identify.
func (i ids) span(kind string, names ...string) (s trace.SpanID) {
	sum := i.hash(append([]string{kind}, names...)...)
	copy(s[:], sum[:])
	return s
}

func (i ids) hash(names ...string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(i) + "\x00" + strings.Join(names, "\x00")))
}
