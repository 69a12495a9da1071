//go:build linux

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// evidence measures parallel jobs with evidence against the same jobs without, by the CPU time of
// the process, which other load of the machine affects less than wall time. The order of the two
// alternates.
func (b *bench) evidence(ctx context.Context, runs int) ([]row, error) {
	const turns = 20
	text, err := conversation(b.paths, turns, allTools)
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(text, "the script of jobs with evidence")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d jobs of %d turns in parallel, with evidence beside without: ", parallel, turns)
	rows := []row{{figure: what + "CPU", unit: "ms"}, {figure: what + "wall", unit: "ms"}}
	rows[0].goal, rows[0].ofRatio = 1.01, true
	keys := [2]string{"", "evidence: {sign: none}\n"}
	for i := range runs + 1 {
		var took [2]usage
		for k := range keys {
			n := (k + i) % len(keys)
			if took[n], err = b.parallelJobs(ctx, wiretest.New(s), turns, "off", keys[n]); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(os.Stderr, "evidence, round %d of %d: CPU %s with, %s without\n", i, runs, took[1].cpu, took[0].cpu)
		if i > 0 {
			rows[0].millhand, rows[0].floor = append(rows[0].millhand, millis(took[1].cpu)), append(rows[0].floor, millis(took[0].cpu))
			rows[1].millhand, rows[1].floor = append(rows[1].millhand, millis(took[1].wall)), append(rows[1].floor, millis(took[0].wall))
		}
	}
	return rows, nil
}
