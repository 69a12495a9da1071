package objectdb

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"time"
)

// Packs that git replaces meanwhile are looked for again, without blocking the other jobs of a run.
func TestLookupsWaitWithoutTheLock(t *testing.T) {
	var waited []time.Duration
	s := &objectStores{mu: &sync.Mutex{}}
	s.sleep = func(_ context.Context, d time.Duration) error {
		if !s.mu.TryLock() {
			t.Fatal("waits with the lock")
		}
		s.mu.Unlock()
		waited = append(waited, d)
		return nil
	}
	s.mu.Lock()
	lookups := 0
	err := s.look(func() error { lookups++; return fs.ErrNotExist })
	if !errors.Is(err, fs.ErrNotExist) || lookups != maxLookups || len(waited) != maxLookups-2 || waited[0] != 2*time.Millisecond {
		t.Errorf("%d lookups, waits %v: %v", lookups, waited, err)
	}
	lookups = 0
	err = s.look(func() error {
		if lookups++; lookups == 3 {
			return nil
		}
		return fs.ErrNotExist
	})
	if err != nil || lookups != 3 {
		t.Errorf("%d lookups: %v", lookups, err)
	}
	if s.mu.TryLock() {
		t.Error("look released the lock")
	}
}
