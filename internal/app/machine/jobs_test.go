package machine

import (
	"math"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestJobsFitTheMachine(t *testing.T) {
	const many = math.MaxUint64
	for _, test := range []struct {
		files, processes uint64
		servers          int
		want             int
		note             string
	}{
		{many, many, 0, 8, ""},
		{104, 80, 0, 8, ""},
		{103, many, 0, 7, "only 7 of 8 jobs run concurrently, for which the machine has enough open files: raise the limit (ulimit -n)"},
		{104, many, 1, 4, "only 4 of 8"},
		{8, many, 0, 1, "only 1 of 8"},
		{many, 16, 0, 1, "only 1 of 8 jobs run concurrently, for which the machine has enough processes"},
	} {
		plan := FitJobs(&tasks.Plan{Parallel: 8, MCP: make([]tasks.MCPServer, test.servers)}, test.files, test.processes)
		if got := strings.Join(plan.Notes, "\n"); plan.Parallel != test.want || !strings.HasPrefix(got, test.note) || test.note == "" && got != "" {
			t.Errorf("%d files, %d processes: %d jobs, %q", test.files, test.processes, plan.Parallel, got)
		}
	}
}
