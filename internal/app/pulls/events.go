package pulls

import (
	"cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/savedjob"
)

// events is what the events of a saved run say about its jobs, for those who publish them later.
type events struct {
	run  *event.Run
	end  *event.RunEnd
	seq  int64
	jobs map[string]*savedjob.Job
}

// Emit adds an event. It always returns nil.
func (r *events) Emit(e event.Event) error {
	r.seq = e.Seq
	switch {
	case e.Run != nil:
		r.run, r.end = cmp.Or(r.run, e.Run), nil
	case e.RunEnd != nil:
		r.end = e.RunEnd
	case e.Job != "":
		if r.jobs == nil {
			r.jobs = map[string]*savedjob.Job{}
		}
		if r.jobs[e.Job] == nil {
			r.jobs[e.Job] = &savedjob.Job{}
		}
		return r.jobs[e.Job].Emit(e)
	}
	return nil
}
