package outlook

import (
	"encoding/json"
	"fmt"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// maxMatrix is the maximum number of jobs in a matrix of GitHub Actions.
const maxMatrix = 256

// githubMatrix prints the strategy.matrix of a workflow: one entry for each shard
// that has jobs.
func githubMatrix(w world.World, plan *tasks.Plan, total int) error {
	switch {
	case plan.Rollout != nil:
		return fault.New(event.ExitUsage, "--format github-matrix can't be combined with a rollout, whose waves are executed one after the other")
	case plan.Shard.Total > 0:
		return fault.New(event.ExitUsage, "--format github-matrix can't be combined with --shard: it splits the entire plan")
	case total == 0:
		total = max(1, min(len(plan.Jobs), maxMatrix))
	}
	type entry struct {
		Shard string `json:"shard"`
		Index int    `json:"index"`
		Total int    `json:"total"`
		Jobs  int    `json:"jobs"`
	}
	entries := make([]entry, total)
	for _, shard := range tasks.ShardOf(plan, total) {
		entries[shard-1].Jobs++
	}
	doc := struct {
		Include []entry `json:"include"`
	}{[]entry{}}
	for i, e := range entries {
		if e.Jobs > 0 {
			e.Shard, e.Index, e.Total = fmt.Sprintf("%d/%d", i+1, total), i+1, total
			doc.Include = append(doc.Include, e)
		}
	}
	line, err := json.Marshal(doc)
	if err != nil {
		return fault.New(event.ExitInternal, "encode the matrix: %w", err)
	}
	_, err = fmt.Fprintf(w.Out, "%s\n", printable.JSON(line))
	return err
}
