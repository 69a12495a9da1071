package house

import (
	"bytes"
	"cmp"
	"fmt"
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

// The budgets, in lines, and in what one receiver has.
const (
	medianFunction  = 12
	longFunction    = 60 // 95 % are at most so long
	longestFunction = 120
	longestFile     = 600
	mostFields      = 25 // embedded structs included
	mostMethods     = 50
)

// excessive lists what exceeds a budget, and why it may: functions and files by
// name, types by package and name.
func excessive() map[string]string {
	return map[string]string{
		"internal/event.Event": "its fields are the payloads of the event types",

		"report.Job":     "its fields are the keys of a job in report.json",
		"tasks.Plan":     "its fields are the settings of a plan, which is data",
		"tasks.Job":      "its fields are the settings of a job of a plan, which is data",
		"tasks.manifest": "its fields are the keys of a manifest",
		"tasks.task":     "its fields are the keys of a task in a manifest",
	}
}

// metrics are the sizes of the tree. Bench and examples are left out, and what
// serves tests counts as tests.
type metrics struct {
	functions map[string]int    // lines, by file and name
	files     map[string]int    // lines
	code      int               // lines of the product
	tests     int               // lines of tests and scripts
	structs   map[string]object // by package and name
	methods   map[string]int    // by package and type
}

// object is a struct type, with what its file imports.
type object struct {
	*ast.StructType
	dir     string
	imports map[string]string // directories of the module, by the name of the package
}

// TestBudgets prints the metrics of the tree, and fails where one exceeds its
// budget.
func TestBudgets(t *testing.T) {
	m := measure(t)
	used := map[string]bool{}
	check := func(name string, n, most int, unit string) {
		if n <= most {
			return
		}
		if used[name] = true; excessive()[name] == "" {
			t.Errorf("%s: %d %s, at most %d", name, n, unit, most)
		}
	}
	for name, n := range m.functions {
		check(name, n, longestFunction, "lines")
	}
	for name, n := range m.files {
		check(name, n, longestFile, "lines")
	}
	fields := map[string]int{}
	for name, n := range m.methods {
		check(name, n, mostMethods, "methods")
	}
	for name := range m.structs {
		fields[name] = m.reachable(name, map[string]bool{})
		check(name, fields[name], mostFields, "fields")
	}
	for name := range excessive() {
		if !used[name] {
			t.Errorf("%s is listed as an exception, and is within the budget", name)
		}
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
	for _, name := range largest(fields, 8) {
		t.Logf("%s reaches %d fields by %d methods", name, fields[name], m.methods[name])
	}
	for _, name := range largest(m.methods, 8) {
		t.Logf("%s has %d methods and reaches %d fields", name, m.methods[name], fields[name])
	}
}

// reachable counts the fields that a method of a struct reaches through its
// receiver alone: the struct's own, and those of structs that it embeds.
func (m *metrics) reachable(name string, seen map[string]bool) int {
	o, ok := m.structs[name]
	if !ok || seen[name] {
		return 0
	}
	seen[name] = true
	n := 0
	for _, field := range o.Fields.List {
		n += max(1, len(field.Names))
		if len(field.Names) == 0 {
			n += m.reachable(o.name(field.Type), seen)
		}
	}
	return n
}

// name returns the package and the name of a type that the object's file refers to.
func (o object) name(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return o.name(t.X)
	case *ast.IndexExpr: // of a generic type
		return o.name(t.X)
	case *ast.Ident:
		return o.dir + "." + t.Name
	case *ast.SelectorExpr:
		return o.imports[fmt.Sprint(t.X)] + "." + t.Sel.Name
	}
	return ""
}

// largest returns the n names with the largest numbers.
func largest(of map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	return names[:min(n, len(names))]
}

func measure(t *testing.T) *metrics {
	t.Helper()
	m := &metrics{functions: map[string]int{}, files: map[string]int{}, structs: map[string]object{}, methods: map[string]int{}}
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
	m.declare(files, name, file)
	return nil
}

// declare measures the declarations of a file.
func (m *metrics) declare(files *token.FileSet, name string, file *ast.File) {
	o := object{dir: path.Dir(name), imports: map[string]string{}}
	for _, spec := range file.Imports {
		if dir, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok {
			alias := path.Base(dir)
			if spec.Name != nil {
				alias = spec.Name.Name
			}
			o.imports[alias] = dir
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.functions[name+" "+d.Name.Name] = files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1
			if d.Recv != nil {
				m.methods[o.name(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					if s, ok := t.Type.(*ast.StructType); ok {
						m.structs[o.name(t.Name)] = object{s, o.dir, o.imports}
					}
				}
			}
		}
	}
}
