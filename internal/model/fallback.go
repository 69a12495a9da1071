package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/money"
)

// Named is a model with its name in events and errors.
type Named struct {
	Name string
	Model
}

// Fallback returns a model that uses the first of models until its provider is down
// ([ClassUnavailable], [ClassRate]), then the next one, and stays with that: it is
// made for one session. Other failures are returned, because the next model would
// only hide them: a rejected key, an invalid request. When the last model is down
// too, its failure is returned.
//
// The models should be [Retrying] ones: a temporary failure is no reason to change
// the model.
//
// down, if not nil, is called with every change and the failure that caused it. It
// must not call the model.
//
// The next model starts a new response. The chunks of a failed one were passed to
// emit already, as with [Retrying].
func Fallback(models []Named, down func(from, to string, err error)) Model {
	if down == nil {
		down = func(string, string, error) {}
	}
	return &fallback{models: models, down: down}
}

type fallback struct {
	models []Named
	down   func(string, string, error)

	mu      sync.Mutex
	current int
}

func (f *fallback) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	err := error(Fail(ClassUnknown, errors.New("no model configured")))
	var lost *money.Charge
	first := f.at()
	for at := first; at < len(f.models); at = f.leave(at, err) {
		if at != first {
			restart(emit)
		}
		var resp Response
		resp, err = f.models[at].Stream(ctx, req, emit)
		lost = lost.Plus(resp.Lost)
		resp.Lost = lost
		if err == nil || ctx.Err() != nil || !isDown(err) {
			resp.Model = f.models[at].Name
			return resp, err
		}
		if exceeded := req.Reservation.Retry(ctx); exceeded != nil {
			return Response{Lost: lost}, fmt.Errorf("%w (fallback after: %v)", exceeded, err) //nolint:errorlint // callers branch on the budget, not on the failure
		}
	}
	if len(f.models) > 1 {
		err = fmt.Errorf("all models failed (%s): %w", f.names(), err)
	}
	return Response{Lost: lost}, err
}

// isDown reports whether a failure, after all retries, is due to the provider and
// not to the request.
func isDown(err error) bool {
	class := ClassOf(err)
	return class == ClassUnavailable || class == ClassRate
}

func (f *fallback) at() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// leave makes the model after at the current one, unless a concurrent request has
// done so already, and returns the index to continue with. The last model stays the
// current one: it may recover.
func (f *fallback) leave(at int, err error) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at+1 == len(f.models) {
		return len(f.models)
	}
	if f.current == at {
		f.current++
		f.down(f.models[at].Name, f.models[at+1].Name, err)
	}
	return f.current
}

func (f *fallback) names() string {
	var names []string
	for _, m := range f.models {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}
