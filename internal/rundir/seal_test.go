package rundir

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// A run has ended even if the seal after its end is longer than the last line that is read for it.
func TestASealIsNotTheEndOfARun(t *testing.T) {
	for _, files := range []int{0, 1, 500, 5000} {
		var text bytes.Buffer
		log := event.JSONL(&text)
		seal := &event.Seal{}
		for i := range files {
			seal.Files = append(seal.Files, event.SealedFile{Name: fmt.Sprintf("outputs/one/%d.txt", i), SHA256: event.LineHash(nil)})
		}
		for i, e := range []event.Event{
			{Type: event.RunStarted, Run: &event.Run{ID: "r", Evidence: &event.Evidence{}}},
			{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}},
			{Type: event.Sealed, Seal: seal},
		} {
			e.Seq = int64(i + 1)
			if err := log.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, torn := range []string{"", `{"seq":4,`} {
			text := bytes.NewReader(append(text.Bytes(), torn...))
			ends, err := readEnds(text, text.Size())
			if err != nil || ends.end == nil || ends.end.Outcome != event.Passed {
				t.Errorf("%d files, %d bytes: %+v, %v", files, text.Size(), ends, err)
			}
		}
	}
}
