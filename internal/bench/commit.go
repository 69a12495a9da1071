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

// stageAndCommit runs the benchmark of internal/gitops that also measures git, in a
// separate process for each round.
func (b *bench) stageAndCommit(ctx context.Context, runs int) (row, error) {
	r := row{figure: "stage and commit 20 changed files of 5,000, beside git: wall", unit: "ms", goal: 3, ofRatio: true}
	program := filepath.Join(b.dir, "gitops.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./internal/gitops")
	build.Dir = b.root
	if _, err := output(build); err != nil {
		return r, err
	}
	line := regexp.MustCompile(`(?m)^BenchmarkStageAndCommit/(gitops|git)\S*\s+\d+\s+([\d.]+) ns/op`)
	for range runs {
		text, err := output(b.command(ctx, b.dir, program, "-test.run", "^$", "-test.bench", "^BenchmarkStageAndCommit$", "-test.benchtime", "5x"))
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
