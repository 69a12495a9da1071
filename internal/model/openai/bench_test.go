package openai_test

import (
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/model/wiretest"
)

// BenchmarkStream decodes the same responses from memory: its allocations are those of
// the client alone.
func BenchmarkStream(b *testing.B) {
	o := openai.Options{BaseURL: "http://localhost/v1", Model: "m"}
	for name, open := range map[string]func(openai.Options) model.Model{
		"chat": openai.New,
		"responses": func(o openai.Options) model.Model {
			return openai.Responses(o, openai.Dialect{Effort: openai.AnyEffort()})
		},
	} {
		b.Run(name, func(b *testing.B) {
			o.HTTPClient = wiretest.Replayed(wiretest.LongTurn(b))
			m := open(o)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := m.Stream(b.Context(), model.Request{}, nil); err != nil || len(r.Calls) != 1 {
					b.Fatal(r.Calls, err)
				}
			}
		})
	}
}
