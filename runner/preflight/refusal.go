package preflight

import (
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
)

// Refusal is the reason why a job can't run with its manifest. One refused job refuses
// the entire run, before budget is used.
type Refusal struct {
	Job  string
	Code event.Code
	Err  error
}

// Error names the job, the reason and its code.
func (r *Refusal) Error() string { return fmt.Sprintf("job %s: %v (%s)", r.Job, r.Err, r.Code) }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Refusals returns the refusals of an error that [Check] gave.
func Refusals(err error) []*Refusal {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var all []*Refusal
	for _, e := range joined.Unwrap() {
		var r *Refusal
		if errors.As(e, &r) {
			all = append(all, r)
		}
	}
	return all
}

// refuse returns a refusal whose job is set later.
func refuse(code event.Code, format string, args ...any) error {
	return &Refusal{Code: code, Err: fmt.Errorf(format, args...)}
}
