package tasks

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/millhand/millhand/tasks/problem"
)

var shardForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})/([0-9]{1,9})$`) })

// ParseShard reads a shard as a command line names it: I/N, the Ith of N, counted
// from 1.
func ParseShard(s string) (Shard, error) {
	m := shardForm().FindStringSubmatch(s)
	if m == nil {
		return Shard{}, fmt.Errorf("invalid shard %s: write I/N, such as 1/4", problem.Quote(s))
	}
	index, _ := strconv.Atoi(m[1]) // at most 9 digits
	total, _ := strconv.Atoi(m[2])
	shard := Shard{Index: index, Total: total}
	if !shard.Valid() {
		return Shard{}, fmt.Errorf("invalid shard %s: write I/N with I from 1 to N", s)
	}
	return shard, nil
}

// Valid reports whether a plan can have this shard; the zero Shard is not valid.
func (s Shard) Valid() bool { return s.Index >= 1 && s.Index <= s.Total }

// ShardOf returns the shard of each of a plan's jobs, those elsewhere included, if
// total machines run it: numbers from 1 by the ids of jobs. Jobs that need one
// another, directly or not, are in the same shard, which depends only on the
// smallest of their ids: it is the same on every machine, and in a plan of other
// jobs too.
func ShardOf(plan *Plan, total int) map[string]int {
	groups := GroupsOf(slices.Concat(plan.Jobs, plan.Elsewhere))
	shards := make(map[string]int, len(groups))
	for id, first := range groups {
		sum := sha256.Sum256([]byte(first))
		shards[id] = 1 + int(binary.BigEndian.Uint64(sum[:8])%uint64(max(total, 1)))
	}
	return shards
}

// GroupsOf returns, by the id of each job, the smallest id of the jobs that need one another
// and it, directly or not.
func GroupsOf(jobs []Job) map[string]string {
	groups := groups{}
	for _, j := range jobs {
		for _, n := range j.Needs {
			groups.join(j.ID, n)
		}
	}
	first := make(map[string]string, len(jobs))
	for _, j := range jobs {
		first[j.ID] = groups.first(j.ID)
	}
	return first
}

// groups are the sets of ids that belong together (a union-find structure): an
// id points to a smaller one of its group; one without an entry is the smallest.
type groups map[string]string

// first returns the smallest id of a group, and shortens the way to it.
func (g groups) first(id string) string {
	first := id
	for next, ok := g[first]; ok; next, ok = g[first] {
		first = next
	}
	for id != first {
		id, g[id] = g[id], first
	}
	return first
}

func (g groups) join(a, b string) {
	a, b = g.first(a), g.first(b)
	if a != b {
		g[max(a, b)] = min(a, b)
	}
}
