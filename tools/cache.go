package tools

import (
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/jsontext"
)

// maxCached is the maximum number of results that a session caches; each is
// limited in size.
const maxCached = 256

// Cache caches results of calls that would return the same again. The zero
// value is an empty cache. It is safe for concurrent use. Each session has its
// own, because results depend on its profile.
type Cache struct {
	mu      sync.Mutex
	results map[string]Outcome
	at      int64 // the tree's change count when the results were stored
}

// cached returns a call's result from the cache, or runs the call and caches
// its result, unless notes of directories were attached, which come once. A call with side effects invalidates all results before it runs
// and again afterwards, because other calls may run concurrently.
func (env *Env) cached(spec Spec, input string, d permission.Decision, run func() Outcome) Outcome {
	if env.Changes != nil && !spec.ReadOnly && !spec.Internal {
		defer env.Changes.Changing(!spec.Writes)()
	}
	if env.Changes == nil || env.Cache == nil || !spec.Cached {
		return run()
	}
	now, key := env.Changes.Count(), spec.Name+" "+jsontext.Canonical(input)
	if env.Untrusted.Is() { // searches showed less before
		key += " "
	}
	if out, ok := env.Cache.get(key, now); ok {
		out.Decision, out.Cached = &d, true
		return out
	}
	out := run()
	if out.Status == Completed && len(out.Attachments) == 0 && out.Metadata.Loaded == nil && env.Changes.Count() == now {
		env.Cache.put(key, now, out)
	}
	return out
}

// get returns a result that is still valid at a change count.
func (c *Cache) get(key string, changes int64) (Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, ok := c.results[key]
	if !ok || c.at != changes {
		return Outcome{}, false
	}
	return out, true
}

// put stores a result and drops those from before the last change.
func (c *Cache) put(key string, changes int64, out Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil || c.at != changes || len(c.results) >= maxCached {
		c.results = map[string]Outcome{}
	}
	c.results[key], c.at = out, changes
}
