package search

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Cache makes repeated searches of a tree cheaper. It remembers the entries of directories,
// and which literals files do not contain, each for a version of the directory or file.
// Nothing is remembered on file systems that don't report every change. A miss is possible
// only if a program that is not noted by [Cache.Changing] writes to a mapped file more than once
// before the kernel writes it to disk. It is safe for concurrent use; a nil Cache remembers
// nothing.
type Cache struct {
	seed  maphash.Seed
	limit int

	mu       sync.RWMutex
	facts    map[uint64]*fact
	size     int  // of facts in bytes, approximately
	searches int  // that have started
	files    bool // there are facts of files

	running  int // changes in progress
	changes  int // starts and ends of changes
	commands int // starts and ends of changes by programs
	swept    int // value of commands when facts were last removed
}

// fact is what is known about a version of a directory or a file. It is immutable.
type fact struct {
	entries  []entry      // of a directory
	grams    grams        // of a file
	unmapped bool         // it holds until the next command, see [trust]
	used     atomic.Int64 // value of Cache.searches at its last use
}

// size returns the approximate size in bytes.
func (f *fact) size() int {
	n := 96 + 8*len(f.grams)
	for _, e := range f.entries {
		n += 24 + len(e.name)
	}
	return n
}

// NewCache returns a cache that uses about so many bytes at most.
func NewCache(limit int) *Cache {
	return &Cache{seed: maphash.MakeSeed(), limit: limit, facts: map[uint64]*fact{}}
}

// Changing notes that files may be changed until done is called. What is read in between is
// not remembered, because a write sets a file's times before it has written all data. A
// program, unlike a file tool, may also write through memory mappings, see [trust].
func (c *Cache) Changing(program bool) (done func()) {
	if c == nil {
		return func() {}
	}
	c.change(1, program)
	return func() { c.change(-1, program) }
}

func (c *Cache) change(n int, program bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += n
	c.changes++
	if program {
		c.commands++
	}
}

// version identifies the content of a directory or file: a change of the content changes it.
// Programs can set the modification time, but not the change time.
type version struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// trust is how far the version of a file can be relied on, which depends on the file system.
type trust int

const (
	never trust = iota
	// unmapped: until the next command, because writes through a memory mapping do not
	// always change a file's version. Directories are not mapped.
	unmapped
	always
)

// margin is the minimum age of a change for remembering its result, so that a later change
// has another time: the kernel's clock for files advances at least 100 times per second.
const margin = 20 * time.Millisecond

// keep is the number of searches for which unused facts stay in a cache that is almost full.
const keep = 16

// memory is the use of a cache by one search.
type memory struct {
	cache    *Cache // nil for none
	start    int64  // of the search, by the kernel's clock for files
	search   int64
	warm     bool // there were facts of files at the start
	changes  int
	commands int
}

// begin starts a search.
func (c *Cache) begin() memory {
	start := fileClock()
	if c == nil || start == 0 {
		return memory{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.searches++
	if full := c.size > c.limit/4*3; full || c.commands != c.swept {
		c.sweep(full)
	}
	return memory{c, start, int64(c.searches), c.files, c.changes, c.commands}
}

// sweep removes the facts that do not hold since a command has started or ended, and, if the
// cache is full, those that have not been used for long.
func (c *Cache) sweep(full bool) {
	for key, f := range c.facts {
		if f.unmapped && c.commands != c.swept || full && f.used.Load() < int64(c.searches-keep) {
			delete(c.facts, key)
			c.size -= f.size()
		}
	}
	c.swept = c.commands
}

// key returns the key of a version in a directory; 0 if nothing can be remembered. It is a
// seeded hash, so that two versions have the same key with a probability of 2^-64.
func (m *memory) key(f *directory, v version, isDir bool) uint64 {
	if m.cache == nil || f.trust == never || v.dev != f.dev || v.ctime%int64(time.Second) == 0 { // the last: times in seconds
		return 0
	}
	commands := -1
	if f.trust == unmapped && !isDir {
		commands = m.commands
	}
	return maphash.Comparable(m.cache.seed, struct {
		version
		isDir    bool
		commands int
	}{v, isDir, commands})
}

// get returns what is known for a key, nil if nothing is.
func (m *memory) get(key uint64) *fact {
	if key == 0 {
		return nil
	}
	m.cache.mu.RLock()
	defer m.cache.mu.RUnlock()
	f := m.cache.facts[key]
	if f != nil {
		f.used.Store(m.search)
	}
	return f
}

// accepts reports whether a fact about a version, which has the key, is new and can be
// remembered.
func (m *memory) accepts(key uint64, v version) bool {
	if key == 0 || v.ctime >= m.start-int64(margin) {
		return false
	}
	m.cache.mu.RLock()
	defer m.cache.mu.RUnlock()
	return m.cache.facts[key] == nil && m.cache.current(m)
}

// current reports whether no change has been in progress since the start of a search, and
// there is space for facts.
func (c *Cache) current(m *memory) bool {
	return c.running == 0 && c.changes == m.changes && c.size < c.limit
}

// put remembers a fact that is accepted, unless a change has begun.
func (m *memory) put(key uint64, f *fact) {
	c := m.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current(m) || c.facts[key] != nil {
		return
	}
	f.used.Store(m.search)
	c.facts[key] = f
	c.size += f.size()
	c.files = c.files || f.entries == nil
}
