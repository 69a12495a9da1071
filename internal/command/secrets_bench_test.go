package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
)

// BenchmarkRedactEvent measures the redaction of the event of a tool call, which contains
// no secret, or one.
func BenchmarkRedactEvent(b *testing.B) {
	const key = "sk-0123456789abcdef0123456789abcdef"
	r := redact.New([]string{key})
	text := strings.Repeat("\tif err != nil {\n\t\treturn err\n\t}\n", 50)
	for name, text := range map[string]string{"no secret": text, "a secret": text + key} {
		b.Run(name, func(b *testing.B) {
			input, err := json.Marshal(map[string]string{"filePath": "a.go", "content": text})
			if err != nil {
				b.Fatal(err)
			}
			emitted := 0
			emit := event.Redacted(r.JSON, func(event.Event) { emitted++ })
			e := event.Event{Type: event.CallUpdated, Job: "j", Call: &event.Call{ID: "c", Turn: 1, Tool: "write", Status: event.CallCompleted, Input: input}}
			b.ReportAllocs()
			for b.Loop() {
				emit(e)
			}
			if emitted == 0 {
				b.Fatal("nothing was emitted")
			}
		})
	}
}
