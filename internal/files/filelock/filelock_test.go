package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTry(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, name), open(t, name)
	for _, c := range []struct {
		first, second Mode
		want          error
	}{
		{Exclusive, Exclusive, ErrHeld},
		{Exclusive, Shared, ErrHeld},
		{Shared, Exclusive, ErrHeld},
		{Shared, Shared, nil},
	} {
		if err := Try(first, c.first); err != nil {
			t.Fatal(err)
		}
		if err := Try(second, c.second); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("mode %d beside mode %d: %v, want %v", c.second, c.first, err, c.want)
		}
	}
	first.Close()
	if err := Try(second, Exclusive); err != nil {
		t.Errorf("after the holder closed its file: %v", err)
	}
}

func TestTryOfAClosedFile(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "lock"))
	f.Close()
	if err := Try(f, Exclusive); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("error %v", err)
	}
}

func TestWaitEndsWhenTheLockIsReleased(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		holder, waiter := open(t, name), open(t, name)
		if err := Try(holder, Exclusive); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() { got <- Wait(t.Context(), waiter, Exclusive) }()
		synctest.Wait() // the first try has failed
		holder.Close()
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	holder, waiter := open(t, name), open(t, name)
	if err := Try(holder, Exclusive); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(ctx, waiter, Shared); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAfterOrphansLooksUntilLocksAreFree(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		free int // the look that finds them free
		err  error
		want int
	}{
		"free":           {free: 1, want: 1},
		"free in time":   {free: 3, want: 3},
		"free too late":  {free: 100, want: 21},
		"an early error": {free: 100, err: failed, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				err := AfterOrphans(t.Context(), func(last bool) (bool, error) {
					if looks++; last != (looks == 21) {
						t.Errorf("look %d is the last: %v", looks, last)
					}
					return looks == c.free, c.err
				})
				if looks != c.want || !errors.Is(err, c.err) {
					t.Errorf("%d looks, %v", looks, err)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AfterOrphans(ctx, func(bool) (bool, error) { return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %v", err)
	}
}
