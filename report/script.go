package report

import "github.com/millhand/millhand/internal/event"

// takeScript records the result of the script; a run that is resumed may repeat it.
func (j *job) takeScript(e event.Event) {
	if e.Script != nil {
		j.around.script = clone(e.Script)
	}
}
