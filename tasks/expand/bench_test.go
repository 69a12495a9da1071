package expand

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

// BenchmarkLoad makes plans of 10,000 jobs, in one manifest each.
func BenchmarkLoad(b *testing.B) {
	var few, many strings.Builder
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("services/s%d/.git/", i)] = ""
		fmt.Fprintf(&few, "services/s%d\n", i)
	}
	for i := range 10_000 {
		fmt.Fprintf(&many, "https://git.example.com/team%d/service%d.git ref=main\n", i%100, i)
	}
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprint("v", i))
	}
	files["few.txt"], files["many.txt"] = few.String(), many.String()
	prompt := strings.Repeat("Fix what is broken, and keep the style of the code around it. ", 30)
	rest := "    verify: [{run: go test ./...}, {run: go vet ./...}]\n    if: vars.on == 'yes' && repo.has('go.mod')\n" +
		"    agent: careful\n    model: [openai/a, openai/b]\n    output: {schema: {properties: {files: {type: array, items: {type: string}}}}}\nagents: {careful: {prompt: Check everything twice., profile: edit}}\n"
	for name, manifest := range map[string]string{
		"repositories and a matrix": head + "vars: {on: yes}\nrepos: [{file: few.txt}]\ntasks:\n  - id: a\n    prompt: ${{ matrix.k }} " + prompt + "\n    matrix: {k: [" + strings.Join(values, ", ") + "]}\n" + rest,
		"urls":                      head + "vars: {on: yes}\nrepos: [{file: many.txt}]\ntasks:\n  - id: a\n    prompt: ${{ repo.name }} " + prompt + "\n" + rest,
		"needs":                     head + "vars: {on: yes}\nrepos: [{file: few.txt}]\ntasks:\n  - {id: b, prompt: x, needs: [a], matrix: {k: [1, 2]}}\n  - id: a\n    prompt: ${{ matrix.k }} " + prompt + "\n    matrix: {k: [" + strings.Join(values, ", ") + "]}\n" + rest,
	} {
		files["m.yaml"] = manifest
		dir := dirWith(b, files)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var plan *tasks.Plan
			for b.Loop() {
				p, err := Load(b.Context(), []string{filepath.Join(dir, "m.yaml")}, options(dir))
				if err != nil || len(p.Jobs) < 10_000 {
					b.Fatal(len(p.Jobs), err)
				}
				plan = p
			}
			var memory runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.HeapAlloc>>10)/1024, "MiB-heap")
			runtime.KeepAlive(plan)
		})
	}
}
