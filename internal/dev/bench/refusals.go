//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// refusal selects the requests that are refused with 429 and Retry-After: 1, by their
// number, from 0, and the time since the first.
type refusal struct {
	name    string
	refuses func(n int, at time.Duration) bool
}

// refusals measures jobs whose provider refuses some requests, against as many floors
// that wait exactly as long as Retry-After requires.
func (b *bench) refusals(ctx context.Context, runs int) ([]row, error) {
	const turns = 13
	text, err := conversation(b.paths, turns, "r")
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(text, "the script of refused jobs")
	if err != nil {
		return nil, err
	}
	b.endpoint.slow(300 * time.Millisecond)
	defer b.endpoint.slow(0)
	var rows []row
	for _, r := range []refusal{
		{"without a 429", func(int, time.Duration) bool { return false }},
		{"one 429", func(n int, _ time.Duration) bool { return n == 30 }},
		{"ten 429s", func(n int, _ time.Duration) bool { return n%10 == 5 && n < 100 }},
		{"ten 429s in a row", func(n int, _ time.Duration) bool { return n >= 30 && n < 40 }},
		{"a storm of 429s for 5 s", func(_ int, at time.Duration) bool { return at > 2*time.Second && at < 7*time.Second }},
	} {
		wall := row{figure: fmt.Sprintf("%d jobs of %d turns in parallel, %s (Retry-After: 1), beside clients that wait no longer: wall", parallel, turns, r.name), unit: "ms", goal: 1.5, ofRatio: true}
		for i := range runs + 1 {
			floor, err := b.floors(ctx, r.server(s))
			if err != nil {
				return nil, err
			}
			server := r.server(s)
			took, err := b.parallelJobs(ctx, server, turns, "auto", "")
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s with %d requests, the floors %s\n", r.name, i, runs, took.wall.Round(time.Millisecond), server.Served(), floor.Round(time.Millisecond))
			if i > 0 {
				wall.millhand, wall.floor = append(wall.millhand, millis(took.wall)), append(wall.floor, millis(floor))
			}
		}
		rows = append(rows, wall)
	}
	return rows, nil
}

// server serves s, and refuses some requests.
func (r refusal) server(s *script.Script) *wiretest.Server {
	var mu sync.Mutex
	var first time.Time
	server := wiretest.New(s)
	server.Fault = func(n int) wiretest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if first.IsZero() {
			first = time.Now()
		}
		if r.refuses(n, time.Since(first)) {
			return wiretest.Fault{Status: 429, Header: map[string]string{"Retry-After": "1"}, Body: `{"error":{"message":"slow down"}}`}
		}
		return wiretest.Fault{}
	}
	return server
}
