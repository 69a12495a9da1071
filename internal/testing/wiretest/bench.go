package wiretest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model/script"
)

const benchChunks = 2000

// LongTurn is a script of one turn that is sent in about 2,000 events, half of
// them text and half arguments.
func LongTurn(tb testing.TB) *script.Script {
	tb.Helper()
	words := strings.Repeat("word ", benchChunks/2*24/5)
	s, err := script.Parse(fmt.Appendf(nil, "version: 1\nturns:\n  - text: %q\n    usage: {input: 1, output: 1}\n    calls: [{tool: write, args: {content: %[1]q}}]", words), "long.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkChunks measures a request that is answered with [LongTurn] and
// reports time and allocations of one event. The server, which is in the same
// process, has a part in both.
func BenchmarkChunks(b *testing.B, once func(context.Context) error) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if err := once(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	events := float64(b.N) * benchChunks
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/events/1000, "µs/event")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/event")
}
