package tools

import (
	"slices"
)

// What tests of the package from outside use of its inside.
const (
	MaxBatch  = maxBatch
	MaxCached = maxCached
)

var FairShare = fairShare

func (r *Registry) Lookup(name string) (Tool, bool) { return r.lookup(name) }

func (r *Registry) All() []Tool { return slices.Concat(r.tools, r.spare) }

func (c *Cache) Put(key string, changes int64, out Outcome) { c.put(key, changes, out) }

func (c *Cache) Len() int { return len(c.results) }

func (t *Todos) Set(list []Todo) { t.set(list) }
