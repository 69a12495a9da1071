package shell

import "testing"

// Bench, NewBench, Ran and Line give the tests of profiles what those of this
// package have.
type Bench struct{ b bench }

func NewBench(tb testing.TB, stubs []string) Bench {
	tb.Helper()
	return Bench{newBench(tb, stubs)}
}

// Ran returns the words of each stub that a line runs.
func (b Bench) Ran(t *testing.T, line string) [][]string {
	t.Helper()
	ran, _ := b.b.run(t, line)
	return ran
}

// Line returns a generated line, broken somewhere if that can't make it leave
// the bench.
func Line(seed uint64) string { return newGenerator(seed).broken() }

// Stubs are the programs of generated lines.
func Stubs() []string { return stubNames() }
