package report

import (
	"fmt"

	"github.com/millhand/millhand/internal/event"
)

// takeScript records the result of the script; a run that is resumed may repeat it.
func (j *job) takeScript(e event.Event) { j.environment.script = clone(e.Script) }

// After describes what the command ran after: "attempt 1", or "script" for that of the task.
func (v *Verify) After() string {
	if v.Attempt == 0 {
		return "script"
	}
	return fmt.Sprintf("attempt %d", v.Attempt)
}
