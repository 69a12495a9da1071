package patterns

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// fleet returns patches of many repositories: 60 edits of each, most of them the same as in
// others, in 30 files.
func fleet(jobs int) (patches []string) {
	rng := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // a repeatable sequence is wanted
	calls := []string{"ReadFile", "WriteFile", "ReadAll", "ReadDir", "TempFile"}
	for range jobs {
		var b strings.Builder
		for file := range 30 {
			var hunk strings.Builder
			for range 2 {
				call, name := calls[rng.IntN(len(calls))], fmt.Sprintf("v%d", rng.IntN(1000))
				fmt.Fprintf(&hunk, " // context\n \tuse(%s)\n-\t%s, err := ioutil.%s(path, %d)\n+\t%s, err := os.%s(path, %d)\n", name, name, call, rng.IntN(50), name, call, rng.IntN(50))
				for range 3 {
					fmt.Fprintf(&hunk, " \tmore(%q)\n", name)
				}
			}
			b.WriteString(patchOf(fmt.Sprintf("dir/file%d.go", file), hunk.String()))
		}
		patches = append(patches, b.String())
	}
	return patches
}

func BenchmarkFleetOf400Jobs(b *testing.B) {
	patches := fleet(400)
	size := 0
	for _, p := range patches {
		size += len(p)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		collect(patches...)
	}
}

// hostile is a patch of 2 MB for every change, and of 10 MB at night.
func hostile(kind string) string {
	size := nightly.Count(2, 10, 10) << 20
	row := map[string]string{
		"one line":     "",
		"long block":   "+\tx(1, \"two\") // three\n",
		"replacement":  "-\tx(1)\n+\ty(2)\n",
		"quotes":       "+\"'`\"\"\" /* '''\n",
		"binary":       "",
		"names":        "+a.b.c.d.e.f.g.h.i.j\n",
		"octal":        "+0777 0777 0777 0777 0777\n",
		"nolint":       "+nolint noqa ignore disable eslint-disable\n",
		"many headers": "",
	}[kind]
	switch kind {
	case "one line":
		return patchOf("a.go", "+"+strings.Repeat("x+", size/2))
	case "binary":
		return "diff --git a/a b/a\nGIT binary patch\n" + strings.Repeat("zabcdefgh\n", size/10)
	case "many headers":
		return strings.Repeat("diff --git a/a b/b\nold mode 100644\nnew mode 100755\n", size/50)
	}
	return patchOf("a_test.go", strings.Repeat(row, size/len(row)))
}

// Large patches are read in time that is linear in their size, and their jobs are listed.
func TestJobsOfHostilePatchesAreListed(t *testing.T) {
	for _, kind := range []string{"one line", "long block", "replacement", "quotes", "binary", "names", "octal", "nolint", "many headers"} {
		t.Run(kind, func(t *testing.T) {
			r := collect(hostile(kind), "", "")
			if len(r.Reading) != 1 || r.Reading[0].Job != "job-0" {
				t.Errorf("%+v", r.Reading)
			}
		})
	}
}

// What is stored of 400 jobs that have more different edits than are stored is less than
// 100 MiB.
func TestManyDifferentEditsNeedLittleMemory(t *testing.T) {
	c := &Collector{}
	for i := range 400 {
		var b strings.Builder
		for k := range 2 * maxAll / 400 {
			fmt.Fprintf(&b, "-\told.F%d(%s)\n+\tnew.G%d(%s)\n \n", k, strings.Repeat("x", 200), i*1000+k, strings.Repeat("y", 200))
		}
		c.Add(Change{Job: fmt.Sprint(i), Repo: fmt.Sprint(i)}, strings.NewReader(patchOf("dir/a.go", b.String())))
	}
	r := c.Result()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 100<<20 {
		t.Errorf("%d MiB", m.HeapAlloc>>20)
	}
	t.Logf("%d MiB, %d patterns", m.HeapAlloc>>20, len(r.Patterns))
	runtime.KeepAlive(c)
}
