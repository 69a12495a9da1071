package event

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
)

// Chain follows the hashes of a stream whose events have the hash of the line before. Its
// zero value is the chain of an empty stream.
type Chain struct {
	head  string
	lines int64
	jobs  map[string]string
}

// Head is the SHA-256 of the last line, in hexadecimal; "" for an empty stream.
func (c *Chain) Head() string { return c.head }

// Lines is the number of lines.
func (c *Chain) Lines() int64 { return c.lines }

// Job returns the head of a job: the SHA-256 of the last line that is about it. A job without
// lines has the head of the stream.
func (c *Chain) Job(id string) string {
	if head, ok := c.jobs[id]; ok {
		return head
	}
	return c.head
}

// Jobs returns the heads of all jobs.
func (c *Chain) Jobs() map[string]string {
	heads := map[string]string{}
	maps.Copy(heads, c.jobs)
	return heads
}

// Add adds a line, whose hash is [LineHash], without checking it.
func (c *Chain) Add(e Event, hash string) {
	c.head = hash
	c.lines++
	if e.Job == "" {
		return
	}
	if c.jobs == nil {
		c.jobs = map[string]string{}
	}
	c.jobs[e.Job] = hash
}

// Check returns an error unless an event follows the lines so far.
func (c *Chain) Check(e Event) error {
	switch {
	case e.Seq != c.lines+1:
		return fmt.Errorf("event %d instead of %d: lines were removed, added or reordered", e.Seq, c.lines+1)
	case e.Prev != c.head && c.lines == 0:
		return fmt.Errorf("the first line has the hash of one before it: lines were removed")
	case e.Prev != c.head:
		return fmt.Errorf("prev is not the SHA-256 of line %d: lines were changed, removed, added or reordered", c.lines)
	}
	return nil
}

// LineHash returns the SHA-256 of a line without its newline, in hexadecimal.
func LineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
