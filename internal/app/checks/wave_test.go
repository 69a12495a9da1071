package checks

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// Without the code of rollouts, all jobs would run at once.
func TestRolloutIsRefusedByAProgramWithoutRollouts(t *testing.T) {
	t.Parallel()
	c := &Checked{Plan: &tasks.Plan{Rollout: &tasks.Rollout{}}}
	_, next := NextWave(t.Context(), world.World{}, invocation.Options{}, c)
	for _, err := range []error{next, SameWave(t.Context(), world.World{}, invocation.Options{}, c, &event.Run{Rollout: &event.Rollout{}}, false)} {
		if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "built without rollouts") {
			t.Errorf("%v", err)
		}
	}
}
