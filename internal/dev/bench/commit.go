//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// stageAndCommit runs the benchmarks of internal/gitops that also measure git, in a
// separate process for each round.
func (b *bench) stageAndCommit(ctx context.Context, runs int) ([]row, error) {
	program := filepath.Join(b.dir, "gitops.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./internal/gitops")
	build.Dir = b.root
	if _, err := output(build); err != nil {
		return nil, err
	}
	checkout, err := b.checkout(ctx, runs)
	if err != nil {
		return nil, err
	}
	rows := []row{checkout}
	for _, one := range []struct {
		what, benchmark, times string
		goal                   float64
		candidate              string
	}{
		{"20 changed files of 5,000", "BenchmarkStageAndCommit", "5x", 3, ""},
		{"20,000 new files", "BenchmarkNewFiles", "1x", 2, "50 ×"},
	} {
		r, err := b.besideGit(ctx, program, one.benchmark, one.times, runs)
		if err != nil {
			return nil, err
		}
		r.figure = "stage and commit " + one.what + ", beside git: wall"
		rows = append(rows, r.timesFloor(one.goal, one.candidate))
	}
	return rows, nil
}

// besideGit runs a benchmark a number of times in each round.
func (b *bench) besideGit(ctx context.Context, program, benchmark, times string, runs int) (row, error) {
	r := row{unit: "ms"}
	line := regexp.MustCompile(`(?m)^` + benchmark + `/(gitops|git)\S*\s+\d+\s+([\d.]+) ns/op`)
	for range runs {
		text, err := output(b.command(ctx, b.dir, program, "-test.run", "^$", "-test.bench", "^"+benchmark+"$", "-test.benchtime", times))
		if err != nil {
			return r, err
		}
		found := line.FindAllStringSubmatch(text, -1)
		if len(found) != 2 {
			return r, fmt.Errorf("the benchmark of internal/gitops printed no figures:\n%s", text)
		}
		for _, f := range found {
			ns, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				return r, err
			}
			into := map[string]*series{"git": &r.floor, "gitops": &r.millhand}[f[1]]
			*into = append(*into, ns/1e6)
		}
	}
	return r, nil
}

// checkout measures the time in which git creates the linked worktree that millhand works
// in.
func (b *bench) checkout(ctx context.Context, runs int) (row, error) {
	r := row{figure: "for scale, `git worktree add` of the 2,000 files: wall", unit: "ms"}
	for i := range runs + 1 {
		if err := b.fresh(ctx); err != nil {
			return r, err
		}
		took, err := b.endpoint.measure(b.command(ctx, b.repo, "git", "worktree", "add", "-q", "--detach", filepath.Join(b.worktree, filepath.Base(b.repo))))
		if err != nil {
			return r, err
		}
		if i > 0 {
			r.floor = append(r.floor, millis(took.wall))
		}
	}
	return r, nil
}
