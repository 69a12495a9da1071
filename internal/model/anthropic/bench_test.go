package anthropic_test

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// BenchmarkChunk measures an event on its way from the socket to the response,
// half of them text and half arguments, beside what the SDK alone needs to
// decode them.
func BenchmarkChunk(b *testing.B) {
	base := wiretest.Serve(b, wiretest.New(wiretest.LongTurn(b)))
	m := anthropic.New(wire.Options{BaseURL: base, Model: "m"}, anthropic.Dialect{})
	bare := sdk.NewMessageService(option.WithBaseURL(strings.TrimSuffix(base, "v1")), option.WithAPIKey("k"), option.WithMaxRetries(0))
	b.Run("messages", func(b *testing.B) {
		wiretest.BenchmarkChunks(b, func(ctx context.Context) error {
			_, err := m.Stream(ctx, model.Request{}, nil)
			return err
		})
	})
	b.Run("sdk-alone", func(b *testing.B) {
		wiretest.BenchmarkChunks(b, func(ctx context.Context) error {
			s := bare.NewStreaming(ctx, sdk.MessageNewParams{Model: "m", MaxTokens: 1})
			for s.Next() {
				_ = s.Current()
			}
			return s.Err()
		})
	})
}

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
