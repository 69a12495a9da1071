package tools

import (
	"slices"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/patch"
)

// What tests of the package from outside use of its inside.
const (
	ByteOrderMark  = byteOrderMark
	MaxBatch       = maxBatch
	MaxCached      = maxCached
	MaxCounted     = maxCounted
	MaxEdit        = maxEdit
	MaxErrors      = maxErrors
	MaxOtherFiles  = maxOtherFiles
	MinBashTimeout = minBashTimeout
)

var (
	BashTimeout = bashTimeout
	DecodeText  = decodeText
	FairShare   = fairShare
	MissingDirs = missingDirs
)

// PerformPatch writes the changes of a patch.
func PerformPatch(env *Env, paths map[string]workspace.Path, writes []patch.Write) error {
	return patching{env: env, paths: paths}.perform(writes)
}

func (r *Registry) Lookup(name string) (Tool, bool) { return r.lookup(name) }

func (r *Registry) All() []Tool { return slices.Concat(r.tools, r.spare) }

func (c *Cache) Put(key string, changes int64, out Outcome) { c.put(key, changes, out) }

func (c *Cache) Len() int { return len(c.results) }

func (e encoding) Encode(text string) []byte { return e.encode(text) }

func (t *Todos) Set(list []Todo) { t.set(list) }
