package forgetest

import (
	"context"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/forge"
)

// Sender returns a sender with a good token for a server, which waits for nothing.
func Sender(t *testing.T, kind forge.Kind, server string) *forge.Sender {
	t.Helper()
	s, err := forge.NewSender(forge.Options{
		Kind: kind, Server: server, UserAgent: "millhand/test", Now: func() time.Time { return time.Unix(2_000_000_000, 0) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) },
		Token: func(context.Context, string) (string, error) { return "good-token", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
