package forges

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/tasks"
)

func TestTheKindOfAFailureFollowsFromItsCause(t *testing.T) {
	stopped, stop := context.WithCancelCause(context.Background())
	stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	late, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("too late"))
	plain := context.Background()
	for _, tt := range []struct {
		ctx  context.Context //nolint:containedctx // an input
		err  error
		want event.Exit
	}{
		{plain, forge.ErrDenied, event.ExitAuth},
		{plain, forge.ErrLimited, event.ExitUnavailable},
		{plain, forge.ErrUnreachable, event.ExitUnavailable},
		{plain, forge.ErrIncomplete, event.ExitUnavailable},
		{plain, forge.ErrNotFound, event.ExitUsage},
		{stopped, forge.ErrDenied, event.ExitTerminate},
		{late, forge.ErrDenied, event.ExitDeadline},
	} {
		err := Failure(tt.ctx, errors.New("list repositories"), fmt.Errorf("request: %w", tt.err))
		var f fault.Error
		if !errors.As(err, &f) || f.Kind != tt.want || !strings.HasSuffix(err.Error(), "; nothing was run") {
			t.Errorf("%v: %v", tt.err, err)
		}
	}
}

func TestAHostHasOneClient(t *testing.T) {
	w := world.World{Getenv: func(string) string { return "" }}
	c := Clients(w, Hosts(w, &tasks.Plan{Forges: []tasks.Forge{{Host: "git.example.com", Kind: tasks.Gitea}}}, func(string) {}), nil)
	first, at, err := c.Open("https://git.example.com/acme/api.git")
	if err != nil || at != (forge.Path{Owner: "acme", Name: "api"}) {
		t.Fatalf("%v, %v", at, err)
	}
	if second, at, err := c.Open("git@git.example.com:acme/web.git"); second != first || at.Name != "web" || err != nil {
		t.Errorf("a second client paces its requests without the first: %v, %v", at, err)
	}
	if _, _, err := c.Open("https://other.example.com/acme/api"); err == nil || !strings.Contains(err.Error(), "forges: {other.example.com: {kind: gitea}}") {
		t.Errorf("an unknown forge: %v", err)
	}
	if got := c.Warnings([]tasks.Job{{Publish: tasks.PublishPR}}); got != nil {
		t.Errorf("%q", got)
	}
}
