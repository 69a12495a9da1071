package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model"
)

// asks keeps what a model was asked.
type asks struct {
	model.Model
	all []model.Request
}

func (a *asks) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	a.all = append(a.all, req)
	return a.Model.Stream(ctx, req, emit)
}

func TestHooksChangeRequests(t *testing.T) {
	var seen *asks
	requests, cold := 0, 0.5
	s := setUp(t, "readonly", `
  - calls: [{tool: list, args: {}}]
  - calls: [{tool: list, args: {}}]
  - text: Done.
`, func(c *Config) {
		seen = &asks{Model: c.Model}
		c.Model, c.System, c.MaxOutput = seen, "Base.", 1000
		c.Hooks = Hooks{
			System: func(_ context.Context, text string) string {
				return fmt.Sprint(text, " Request ", len(seen.all)+1, ".")
			},
			Tool: func(_ context.Context, t model.ToolSpec) model.ToolSpec {
				t.Description = "About " + t.Name + "." + strings.Repeat("x", 3000)
				return t
			},
			Request: func(_ context.Context, r model.Request) model.Request {
				requests++
				if r.MaxOutput != 1000 {
					t.Errorf("the limit is %d", r.MaxOutput)
				}
				r.Temperature, r.Headers = &cold, map[string]string{"x-request": fmt.Sprint(requests)}
				r.MaxOutput = []int{0, 400, 2000, 0}[requests]
				r.System, r.Messages = "ignored", nil
				return r
			},
		}
	})
	if end := s.Run(t.Context(), "Go."); !end.Done() {
		t.Fatalf("%+v", end)
	}
	for i, r := range seen.all {
		n := fmt.Sprint(i + 1)
		if r.System != "Base. Request "+n+"." || r.Headers["x-request"] != n || *r.Temperature != cold || r.MaxOutput != []int{400, 0, 0}[i] || len(r.Messages) != 1+2*i {
			t.Errorf("request %d: %q, %v, %d, %d messages", i+1, r.System, r.Headers, r.MaxOutput, len(r.Messages))
		}
		for _, tool := range r.Tools {
			if !strings.HasPrefix(tool.Description, "About "+tool.Name+".x") {
				t.Errorf("request %d: %s: %.40s", i+1, tool.Name, tool.Description)
			}
		}
	}
	if len(seen.all) != 3 || s.talk.fixed < int64(1000*len(seen.all[0].Tools)) {
		t.Errorf("%d requests, %d tokens before the conversation", len(seen.all), s.talk.fixed)
	}
}

func TestHooksChangeSummaries(t *testing.T) {
	var seen *asks
	s := setUp(t, "readonly", reading(4)+"  - error: {class: context, message: too long}\n  - text: A summary.\n  - text: Done.\n", func(c *Config) {
		seen = &asks{Model: c.Model}
		c.Model = seen
		c.Hooks.Summary = func(_ context.Context, text string) string { return text + "\n\nName the sheep." }
	})
	if err := os.WriteFile(filepath.Join(s.dir, "big"), []byte(strings.Repeat("a line\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if end := s.Run(t.Context(), "read it all"); !end.Done() {
		t.Fatalf("%+v", end)
	}
	if got := seen.all[5].System; got != summarySystem+"\n\nName the sheep." {
		t.Errorf("instructions %q", got)
	}
}
