package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/money"
)

// Named is a model with the name by which it is told of.
type Named struct {
	Name string
	Model
}

// Fallback returns a model that answers with the first of models until its
// provider is down ([ClassUnavailable], [ClassRate]), then with the next one, and
// stays with that: it is made for one session. Other failures stand, because the
// next model would only hide what is wrong: a key that is refused, a request that
// no provider would take. When the last one is down too, its failure stands.
//
// The models should be [Retrying] ones: what may pass soon is no reason to
// change the model.
//
// down, if not nil, is told of every change and the failure that led to it. It
// must not ask the model.
//
// The next model answers from the beginning. The pieces of a broken-off answer
// have gone to emit already, as with [Retrying].
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
	err := error(Fail(ClassUnknown, errors.New("there is no model to ask")))
	var lost *money.Charge
	for at := f.at(); at < len(f.models); at = f.leave(at, err) {
		var resp Response
		resp, err = f.models[at].Stream(ctx, req, emit)
		lost = lost.Plus(resp.Lost)
		resp.Lost = lost
		if err == nil || ctx.Err() != nil || !isDown(err) {
			resp.Model = f.models[at].Name
			return resp, err
		}
		if exceeded := req.Reservation.Retry(); exceeded != nil {
			return Response{Lost: lost}, fmt.Errorf("%w, after: %v", exceeded, err) //nolint:errorlint // the failure is told, the lack of money decides
		}
	}
	if len(f.models) > 1 {
		err = fmt.Errorf("no model of %s is left: %w", f.names(), err)
	}
	return Response{Lost: lost}, err
}

// isDown reports whether a failure, after all retries, is the provider's state
// rather than anything that was sent.
func isDown(err error) bool {
	class := ClassOf(err)
	return class == ClassUnavailable || class == ClassRate
}

func (f *fallback) at() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// leave makes the model behind at the current one, unless a request at the same
// time has done so already, and returns where to go on. The last model is not
// left: one that comes back is better than none.
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
