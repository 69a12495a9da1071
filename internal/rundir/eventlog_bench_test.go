package rundir

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// BenchmarkEventLog measures one event of a tool call with 4 KiB of input, with and without a
// chain.
func BenchmarkEventLog(b *testing.B) {
	for name, chain := range map[string]*event.Chain{"plain": nil, "chained": {}} {
		b.Run(name, func(b *testing.B) {
			f, err := os.CreateTemp(b.TempDir(), "")
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			log := &EventLog{file: f, chain: chain, room: func(error) bool { return false }}
			e := event.Event{Type: event.CallUpdated, Job: "one", Time: time.Unix(0, 0), Call: &event.Call{Tool: "edit", Input: []byte(`"` + strings.Repeat("x", 4096) + `"`)}}
			for b.Loop() {
				e.Seq++
				if err := log.Emit(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
