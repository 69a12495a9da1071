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
	var rows []row
	for _, one := range []struct{ what, benchmark, times string }{
		{"20 changed files of 5,000", "BenchmarkStageAndCommit", "5x"},
		{"20,000 new files", "BenchmarkNewFiles", "1x"},
	} {
		r, err := b.besideGit(ctx, program, one.benchmark, one.times, runs)
		if err != nil {
			return nil, err
		}
		r.figure = "stage and commit " + one.what + ", beside git: wall"
		rows = append(rows, r)
	}
	return rows, nil
}

// besideGit runs a benchmark a number of times in each round.
func (b *bench) besideGit(ctx context.Context, program, benchmark, times string, runs int) (row, error) {
	r := row{unit: "ms", goal: 3, ofRatio: true}
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
