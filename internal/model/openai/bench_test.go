package openai_test

import (
	"context"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// BenchmarkChunk measures an event on its way from the socket to the response,
// half of them text and half arguments, beside what the SDK alone needs to
// decode them.
func BenchmarkChunk(b *testing.B) {
	base := wiretest.Serve(b, wiretest.New(wiretest.LongTurn(b)))
	o := openai.Options{BaseURL: base, Model: "m"}
	bare := sdk.NewClient(option.WithBaseURL(base), option.WithAPIKey(""), option.WithMaxRetries(0))
	chat, resp := openai.New(o), openai.Responses(o, openai.Dialect{Effort: openai.AnyEffort()})
	for name, once := range map[string]func(context.Context) error{
		"chat": func(ctx context.Context) error {
			_, err := chat.Stream(ctx, model.Request{}, nil)
			return err
		},
		"responses": func(ctx context.Context) error {
			_, err := resp.Stream(ctx, model.Request{}, nil)
			return err
		},
		"chat-sdk-alone": func(ctx context.Context) error {
			s := bare.Chat.Completions.NewStreaming(ctx, sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{}})
			for s.Next() {
				_ = s.Current()
			}
			return s.Err()
		},
		"responses-sdk-alone": func(ctx context.Context) error {
			s := bare.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: "m"})
			for s.Next() {
				_ = s.Current()
			}
			return s.Err()
		},
	} {
		b.Run(name, func(b *testing.B) { wiretest.BenchmarkChunks(b, once) })
	}
}

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
