package anthropic_test

import (
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/model/wiretest"
)

// BenchmarkStream decodes the same responses from memory: its allocations are those of
// the client alone.
func BenchmarkStream(b *testing.B) {
	m := anthropic.New(wire.Options{BaseURL: "http://localhost/v1", Model: "m", HTTPClient: wiretest.Replayed(wiretest.LongTurn(b))}, anthropic.Dialect{})
	b.ReportAllocs()
	for b.Loop() {
		if r, err := m.Stream(b.Context(), model.Request{}, nil); err != nil || len(r.Calls) != 1 {
			b.Fatal(r.Calls, err)
		}
	}
}
