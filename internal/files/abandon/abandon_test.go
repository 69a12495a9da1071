package abandon

import (
	"context"
	"errors"
	"testing"
)

func TestWorkIsAbandonedWhenItsContextEnds(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	blocked := make(chan struct{})
	defer close(blocked)
	_, err := When(ctx, func() (int, error) {
		cancel(cause)
		<-blocked
		return 1, nil
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

func TestTheResultOfWorkIsReturned(t *testing.T) {
	if n, err := When(t.Context(), func() (int, error) { return 1, nil }); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	own := errors.New("own")
	if _, err := When(t.Context(), func() (int, error) { return 0, own }); !errors.Is(err, own) {
		t.Errorf("error %v", err)
	}
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := When(ctx, func() (int, error) { cancel(cause); return 0, own }); !errors.Is(err, cause) {
		t.Errorf("of work that has noticed the end: %v", err)
	}
}
