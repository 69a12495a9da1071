package site

import "sync"

// keyedLocks are locks by name. The zero value is ready.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

// lock acquires the lock of a name and returns what releases it, and whether nobody has had it before.
func (k *keyedLocks) lock(name string) (unlock func(), first bool) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*sync.Mutex{}
	}
	l := k.locks[name]
	if first = l == nil; first {
		l = &sync.Mutex{}
		k.locks[name] = l
	}
	k.mu.Unlock()
	l.Lock()
	return l.Unlock, first
}
