package faults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestProviders returns a faulty response to one request of a run, or to all from
// there on: each fault of package wiretest, on every wire. The run ends, with work
// that is saved, and reports what happened.
func TestProviders(t *testing.T) {
	template := template(t)
	random, ended := nightly.Random(t), counts{}
	type fault struct {
		wiretest.Case
		on wiretest.Wire
	}
	var all []fault
	for _, on := range []wiretest.Wire{wiretest.Chat, wiretest.Responses, wiretest.Messages} {
		for _, c := range append(wiretest.Cases(), wiretest.Refusals()...) {
			if (c.Wire == "" || c.Wire == on) && !c.Hangs {
				all = append(all, fault{c, on})
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, f := range all[:min(len(all), nightly.Count(2, 150, len(all)))] {
		first, last := random.IntN(3*jobs), 1<<30
		if !nightly.On() || random.IntN(4) > 0 { // each job waits for the end of a permanent fault
			last = first
		}
		t.Run(fmt.Sprintf("%s/%s from %d to %d", f.on, f.Name, first, last), func(t *testing.T) {
			w := newWorld(t, template, func(s *wiretest.Server) {
				s.Fault = func(n int) wiretest.Fault {
					if n < first || n > last {
						return wiretest.Fault{}
					}
					return f.Fault
				}
			})
			out, err := w.run(t.Context(), "r", "--model", string(f.on)+"/m").CombinedOutput()
			code := exitCode(t, err)
			w.checkProcesses()
			w.checkRepositories()
			w.checkLeftovers()
			r := w.checkReport("r", false)
			permitted := []int{0, 1, 6, 75}
			if f.Name == "too-long" || f.Name == "too-large" {
				permitted = append(permitted, 4) // the context window is a limit
			}
			if r.Run.ExitCode != code || !slices.Contains(permitted, code) {
				t.Errorf("exit code %d, reported is %d\n%s", code, r.Run.ExitCode, out)
			}
			for _, j := range r.Jobs {
				if j.Outcome != "passed" && j.Reason == "" {
					t.Errorf("job %s: %s without a reason", j.ID, j.Outcome)
				}
			}
			ended[fmt.Sprintf("exit code %d", code)]++
		})
	}
	ended.log(t)
}
