package house

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The budgets, in lines.
const (
	medianFunction  = 12
	longFunction    = 40 // 95 % are at most so long
	longestFunction = 120
	longestFile     = 600
)

// metrics are the sizes of the tree. Bench and examples are left out, and what
// serves tests counts as tests.
type metrics struct {
	functions map[string]int // lines, by file and name
	files     map[string]int // lines
	code      int            // lines of the product
	tests     int            // lines of tests and scripts
}

// TestFilesAndFunctionsAreWithinBudgets prints the metrics of the tree, and fails where one exceeds its
// budget.
func TestFilesAndFunctionsAreWithinBudgets(t *testing.T) {
	m := measure(t)
	check := func(name string, n, most int) {
		if n > most {
			t.Errorf("%s: %d lines, at most %d", name, n, most)
		}
	}
	for name, n := range m.functions {
		check(name, n, longestFunction)
	}
	for name, n := range m.files {
		check(name, n, longestFile)
	}
	f := slices.Sorted(maps.Values(m.functions))
	median, p95 := f[len(f)/2], f[len(f)*95/100]
	if median > medianFunction || p95 > longFunction {
		t.Errorf("functions: median %d lines, 95 %% up to %d; at most %d and %d", median, p95, medianFunction, longFunction)
	}
	l := slices.Sorted(maps.Values(m.files))
	t.Logf("functions: %d, median %d, p95 %d, p99 %d, max %d lines", len(f), median, p95, f[len(f)*99/100], f[len(f)-1])
	t.Logf("files: %d, median %d, p95 %d, max %d lines", len(l), l[len(l)/2], l[len(l)*95/100], l[len(l)-1])
	t.Logf("code %d lines, tests %d, ratio %.2f", m.code, m.tests, float64(m.tests)/float64(m.code))
}

// largest returns the n names with the largest numbers.
func largest(of map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	return names[:min(n, len(names))]
}

func measure(t *testing.T) *metrics {
	t.Helper()
	m := &metrics{functions: map[string]int{}, files: map[string]int{}}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "examples" || d.Name() == "bench") {
				return filepath.SkipDir
			}
			return nil
		}
		return m.add(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// add measures a file.
func (m *metrics) add(name string) error {
	ext := path.Ext(name)
	if ext != ".go" && ext != ".txtar" || ext == ".go" && strings.Contains(name, "testdata/") {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte("\n"))
	if ext != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/testing/wiretest/") || strings.HasPrefix(name, "internal/testing/e2e/scripts/") {
		m.tests += lines
		return nil
	}
	m.code += lines
	m.files[name] = lines
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			m.functions[name+" "+f.Name.Name] = files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
		}
	}
	return nil
}
