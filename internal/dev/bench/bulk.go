//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// parallel is the number of jobs that one process runs in parallel, compared to as many
// floors.
const parallel = 8

// together measures parallel jobs in one process against as many floors, each a separate
// process, that run in parallel.
func (b *bench) together(ctx context.Context, runs int) ([]row, error) {
	const turns = 20
	text, err := conversation(b.paths, turns, allTools)
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(text, "the script of parallel jobs")
	if err != nil {
		return nil, err
	}
	variants := []struct{ how, sandbox string }{{"sandbox off, in place", "off"}, {"in place", "auto"}}
	rows := make([]row, 0, 2*len(variants))
	for _, v := range variants {
		what := fmt.Sprintf("%d jobs of %d turns in parallel, %s", parallel, turns, v.how)
		rows = append(rows, row{figure: what + ": wall", unit: "ms"}.timesFloor(1.1, "1.4 ×"), row{figure: what + ": peak memory", unit: "MiB"}.atMost(120, "66 MiB"))
	}
	for i := range runs + 1 {
		floor, err := b.floors(ctx, wiretest.New(s))
		if err != nil {
			return nil, err
		}
		for n, v := range variants {
			took, err := b.parallelJobs(ctx, wiretest.New(s), turns, v.sandbox, "")
			if err != nil {
				return nil, err
			}
			wall, peak := &rows[2*n], &rows[2*n+1]
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s, the floors %s\n", wall.figure, i, runs, took.wall.Round(time.Millisecond), floor.Round(time.Millisecond))
			if i > 0 {
				wall.millhand, wall.floor = append(wall.millhand, millis(took.wall)), append(wall.floor, millis(floor))
				peak.millhand = append(peak.millhand, mebibytes(took.peak))
			}
		}
	}
	return rows, nil
}

// freshRepos creates copies of the generated repository.
func (b *bench) freshRepos(ctx context.Context, n int) ([]string, error) {
	var repos []string
	for range n {
		if err := b.fresh(ctx); err != nil {
			return nil, err
		}
		repos = append(repos, b.repo)
	}
	return repos, nil
}

// floors runs one floor on each of several repositories, in parallel.
func (b *bench) floors(ctx context.Context, server *wiretest.Server) (time.Duration, error) {
	repos, err := b.freshRepos(ctx, parallel)
	if err != nil {
		return 0, err
	}
	b.endpoint.play(server)
	errs := make([]error, len(repos))
	var all sync.WaitGroup
	began := time.Now()
	for i, repo := range repos {
		all.Go(func() { _, errs[i] = output(b.command(ctx, repo, b.self, "-floor", b.endpoint.url)) })
	}
	all.Wait()
	took := time.Since(began)
	return took, errors.Join(append(server.Problems(), errs...)...)
}

// parallelJobs runs one process on as many repositories, in parallel, with more keys of the
// manifest.
func (b *bench) parallelJobs(ctx context.Context, server *wiretest.Server, turns int, sandbox, more string) (usage, error) {
	repos, err := b.freshRepos(ctx, parallel)
	if err != nil {
		return usage{}, err
	}
	var list strings.Builder
	for _, repo := range repos {
		fmt.Fprintf(&list, "  - {path: %q}\n", repo)
	}
	file := b.repo + "-together.yaml"
	text := fmt.Sprintf(`version: 1
name: bench
model: openai/gpt-5-mini
profile: build
jobs: %d
limits: {turns: 10000, cost: 10000, time: 1h, tokens: 1000000000000}
%srepos:
%stasks: [{id: count, prompt: %q, commit: false}]
`, parallel, more, list.String(), instruction)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return usage{}, err
	}
	b.endpoint.play(server)
	took, err := b.endpoint.measure(b.command(ctx, b.dir, b.millhand, "run", file, "--sandbox", sandbox, "--report-dir", b.repo+"-report"))
	if err := errors.Join(append(server.Problems(), err)...); err != nil {
		return took, err
	}
	if n, want := server.Served(), parallel*(turns+1); server.Fault == nil && n != want {
		return took, fmt.Errorf("sent %d requests, want %d", n, want)
	}
	return took, nil
}
