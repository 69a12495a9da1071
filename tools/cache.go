package tools

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"github.com/millhand/millhand/internal/permission"
)

// maxCached is how many answers a session keeps; each is bounded in size.
const maxCached = 256

// Cache keeps the answers of calls that would answer the same again. The zero
// value is an empty one; it is safe for concurrent use. Each session has its
// own, because the answers depend on its profile.
type Cache struct {
	mu      sync.Mutex
	answers map[string]Outcome
	at      int64 // count of the tree's changes when the answers were taken
}

// remembered answers a call from the cache, or carries it out and keeps its
// answer. A call that changes things makes all answers old, once before it
// acts and once after: others may run beside it.
func (env *Env) cached(spec Spec, input string, d permission.Decision, run func() Outcome) Outcome {
	if env.Tree != nil && !spec.ReadOnly && !spec.Internal {
		env.Tree.touch()
		defer env.Tree.touch()
	}
	if env.Tree == nil || env.Cache == nil || !spec.Cached {
		return run()
	}
	now, key := env.Tree.count(), spec.Name+" "+canonicalInput(input)
	if out, ok := env.Cache.get(key, now); ok {
		out.Decision, out.Cached = &d, true
		return out
	}
	out := run()
	if out.Status == Completed && len(out.Attachments) == 0 && env.Tree.count() == now {
		env.Cache.put(key, now, out)
	}
	return out
}

// canonicalInput writes arguments so that their order and white space don't
// count.
func canonicalInput(input string) string {
	dec := json.NewDecoder(bytes.NewReader([]byte(input)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return input
	}
	text, err := json.Marshal(v)
	if err != nil {
		return input
	}
	return string(text)
}

// get returns an answer that is still true after so many changes.
func (c *Cache) get(key string, changes int64) (Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, ok := c.answers[key]
	if !ok || c.at != changes {
		return Outcome{}, false
	}
	out.Metadata = maps.Clone(out.Metadata)
	return out, true
}

// put keeps an answer; those from before the last change go.
func (c *Cache) put(key string, changes int64, out Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil || c.at != changes || len(c.answers) >= maxCached {
		c.answers = map[string]Outcome{}
	}
	out.Metadata = maps.Clone(out.Metadata)
	c.answers[key], c.at = out, changes
}
