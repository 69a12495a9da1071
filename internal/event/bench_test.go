package event

import (
	"io"
	"testing"
	"time"
)

// BenchmarkEmit measures an event from its producer to the line in the log.
func BenchmarkEmit(b *testing.B) {
	stream := NewStream(time.Now, JSONL(io.Discard))
	e := Event{Type: CallUpdated, Job: "j", Call: &Call{ID: "c", Turn: 1, Tool: "read", Status: CallCompleted, Input: []byte(`{"filePath":"a.go"}`)}}
	b.ReportAllocs()
	for b.Loop() {
		stream.Emit(e)
	}
}
