package ignore

import (
	"fmt"
	"testing"
)

// A file of the length and the kinds of lines that large repositories have,
// asked about as many paths as such a tree holds.
func BenchmarkIgnored(b *testing.B) {
	var lines []byte
	for i := range 20 {
		lines = fmt.Appendf(lines, "name%d\n*.ext%d\n/dir%d/\nsrc/gen%d/*.go\n*cache%d*\n", i, i, i, i, i)
	}
	m := New(Parse(lines))
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("src/pkg%d/sub/file_%d_test.go", i%30, i)
	}
	for b.Loop() {
		for _, p := range paths {
			m.Ignored(p, false)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(paths)), "ns/path")
}
