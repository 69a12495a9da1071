package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepWaitsOrReturnsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(nil).For(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("waited %s: %v", time.Since(began), err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		began = time.Now()
		if err := Wait(ctx, time.Hour); !errors.Is(err, cause) || time.Since(began) != time.Minute {
			t.Errorf("waited %s: %v", time.Since(began), err)
		}
		for range 100 { // both would be ready
			if err := Wait(ctx, 0); !errors.Is(err, cause) {
				t.Fatalf("after the end of the context: %v", err)
			}
		}
	})
	asked := time.Duration(0)
	fake := Sleep(func(_ context.Context, d time.Duration) error { asked = d; return nil })
	if err := fake.For(t.Context(), time.Hour); err != nil || asked != time.Hour {
		t.Errorf("asked to wait %s: %v", asked, err)
	}
}
