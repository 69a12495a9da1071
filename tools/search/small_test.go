package search

import "testing"

// BenchmarkSmallTree is compared by its allocations, unlike [BenchmarkSearch].
func BenchmarkSmallTree(b *testing.B) {
	scope := Scope{Root: openRoot(b, growTree(b, 300))}
	for _, c := range []struct {
		name string
		once func() (int, error)
	}{
		{"grep", func() (int, error) {
			r, err := Grep(b.Context(), scope, Query{Pattern: `func \w+Context\(`, Limit: 100})
			return r.Total, err
		}},
		{"glob", func() (int, error) {
			r, err := Glob(b.Context(), scope, "**/*.go", 100)
			return r.Total, err
		}},
		{"list", func() (int, error) {
			r, err := List(b.Context(), scope, ListQuery{Limit: 100})
			return r.Total, err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := c.once(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
