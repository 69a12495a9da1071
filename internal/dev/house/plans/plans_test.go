// Package plans fails where the source writes to a plan, or from elsewhere to a running job. It is not in package house, whose program starts the
// child of a sandbox, and would initialize the packages that read types first.
package plans

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	module      = "github.com/millhand/millhand"
	planPackage = module + "/tasks" // defines the plan
	jobPackage  = module + "/runner/site"
)

// TestNoPackageEditsAPlan fails where a package writes a field of a plan or a job, or memory that these share with
// others. A plan that differs is another one: package tasks makes it.
func TestNoPackageEditsAPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the types of all packages")
	}
	listed := exportedPackages(t)
	imports := importExported(listed)
	held := typesOfPlans(t, imports)
	checked := 0
	for _, p := range listed {
		dir := strings.TrimPrefix(p.ImportPath, module+"/")
		if p.Module.Path != module || dir == "tasks" || dir == "tasks/expand" || !slices.Contains(p.Deps, planPackage) {
			continue
		}
		checked++
		for _, w := range writesOf(t, imports, held, p.ImportPath, p.sources(t)) {
			if manifests := strings.HasPrefix(dir, "tasks/"); !manifests || w.edits {
				t.Errorf("%s: package %s writes %s: let package tasks make another plan or job", w.at, dir, w.what)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d packages know plans", checked)
	}
}

// TestWritesOfAPlanAreFound plants some.
func TestWritesOfAPlanAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the types of all packages")
	}
	imports := importExported(exportedPackages(t))
	held := typesOfPlans(t, imports)
	for statement, want := range map[string]string{
		"plan.Parallel = 1":                         "Plan.Parallel",
		"plan.Clones++":                             "Plan.Clones",
		"plan.Jobs[0].Limits.Turns = 2":             "Job.Limits",
		"job.Profile.Rules = nil":                   "Job.Profile",
		"job.Commit.Branch = `b`":                   "Commit.Branch",
		"c := job.Commit; c.Branch = `b`":           "Commit.Branch",
		"v := job.Verify; v[0].Run = `b`":           "Verify.Run",
		"turns := &job.Limits.Turns; _ = turns":     "Job.Limits",
		"*plan = tasks.Plan{}":                      "Plan",
		"*job.Commit = tasks.Commit{}":              "Commit",
		"delete(job.Matrix, `key`)":                 "Job.Matrix",
		"slices.Reverse(plan.Jobs)":                 "Plan.Jobs",
		"for plan.Parallel = range 3 {}":            "Plan.Parallel",
		"j := &plan.Jobs[0]; j.Skip = `x`":          "Job.Skip",
		"j := &plan.Jobs[0]; _ = j":                 "",
		"own.Skip = `x`":                            "Job.Skip",
		"c := *job.Commit; c.Branch = `b`":          "", // a copy
		"f := job.Output; f.Path = `b`":             "",
		"jobs := []tasks.Job{*job}; jobs[0] = *job": "",
		"_ = slices.Clone(plan.Jobs)":               "",
		"p := plan; p = nil; _ = p":                 "",
		"_ = tasks.Plan{Jobs: plan.Jobs}":           "",
	} {
		file := token.NewFileSet()
		source := "package planted\n\nimport (\n\t\"slices\"\n\n\t\"" + planPackage + "\"\n)\n\ntype holder struct{ tasks.Job }\n\nfunc f(plan *tasks.Plan, job *tasks.Job, own holder) {\n\t_ = slices.Max[[]int]\n\t" + statement + "\n}\n"
		parsed, err := parser.ParseFile(file, "planted.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		var got []string
		for _, w := range writesOf(t, imports, held, module+"/planted", sourceFiles{file, []*ast.File{parsed}}) {
			got = append(got, w.what)
		}
		if want == "" && got != nil || want != "" && !slices.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", statement, got, want)
		}
	}
}

// TestOnlyItsPackageWritesToARunningJob fails where a phase of package runner or a session changes the specification, the start, the history
// or another field of a job: each change is a method with a name.
func TestOnlyItsPackageWritesToARunningJob(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the types of all packages")
	}
	listed := exportedPackages(t)
	imports := importExported(listed)
	held := map[*types.TypeName]bool{typeIn(t, imports, jobPackage, "Job"): true}
	readers := 0
	for _, p := range listed {
		if p.Module.Path != module || !slices.Contains(p.Deps, jobPackage) {
			continue
		}
		readers++
		for _, w := range writesOf(t, imports, held, p.ImportPath, p.sources(t)) {
			t.Errorf("%s: %s writes %s of a running job: let package site do it, by a method", w.at, p.ImportPath, w.what)
		}
	}
	if readers < 3 {
		t.Errorf("only %d packages know running jobs", readers)
	}
	source := "package planted\n\nimport \"" + jobPackage + "\"\n\ntype job struct{ *site.Job }\n\nfunc f(j job) { j.Start.Base = `b`; j.UseModel(j.Spec.Escalate[0]) }\n"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "planted.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if found := writesOf(t, imports, held, module+"/planted", sourceFiles{set, []*ast.File{parsed}}); len(found) != 1 || found[0].what != "Job.Start" {
		t.Errorf("planted: %+v", found)
	}
}

// exportedPackage is a package as go list prints it, with the file of its types.
type exportedPackage struct {
	ImportPath, Dir, Export string
	GoFiles, Deps           []string
	Module                  struct{ Path, GoVersion string }
}

type sourceFiles struct {
	set   *token.FileSet
	files []*ast.File
}

func (p exportedPackage) sources(t *testing.T) sourceFiles {
	t.Helper()
	s := sourceFiles{set: token.NewFileSet()}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(s.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, file)
	}
	return s
}

// listExported lists the packages of the module and those that they import, for all tests.
var listExported = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Deps,Module", module+"/...").Output()
})

// exportedPackages returns what listExported lists.
func exportedPackages(t *testing.T) []exportedPackage {
	t.Helper()
	out, err := listExported()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []exportedPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p exportedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("decode the output of go list: %v", err)
		}
		all = append(all, p)
	}
}

func importExported(all []exportedPackage) types.Importer {
	files := map[string]string{}
	for _, p := range all {
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// planWrite is a statement that writes to a plan.
type planWrite struct {
	at    token.Position
	what  string // TYPE.FIELD
	edits bool   // a plan or a job, not only what they have
}

// typesOfPlans returns the types of plans and what they have.
func typesOfPlans(t *testing.T, imports types.Importer) map[*types.TypeName]bool {
	t.Helper()
	held := map[*types.TypeName]bool{}
	hold(held, typeIn(t, imports, planPackage, "Plan").Type())
	return held
}

func typeIn(t *testing.T, imports types.Importer, path, name string) *types.TypeName {
	t.Helper()
	p, err := imports.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := p.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		t.Fatalf("%s has no type %s", path, name)
	}
	return found
}

// writesOf returns the writes to fields of types in a package.
func writesOf(t *testing.T, imports types.Importer, held map[*types.TypeName]bool, path string, s sourceFiles) []planWrite {
	t.Helper()
	w := planWriter{held: held, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}}}
	config := types.Config{Importer: imports, Error: func(err error) { t.Error(err) }}
	config.Check(path, s.set, s.files, w.info)
	var all []planWrite
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range w.targets(n) {
				if what, edits := w.written(e); what != "" {
					all = append(all, planWrite{s.set.Position(e.Pos()), what, edits})
				}
			}
			return true
		})
	}
	return all
}

// hold adds the types of package tasks in a type, directly or not.
func hold(all map[*types.TypeName]bool, t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		if name := t.Obj(); name.Pkg() != nil && name.Pkg().Path() == planPackage && !all[name] {
			all[name] = true
			hold(all, t.Underlying())
		}
	case *types.Struct:
		for field := range t.Fields() {
			hold(all, field.Type())
		}
	case *types.Pointer:
		hold(all, t.Elem())
	case *types.Slice:
		hold(all, t.Elem())
	case *types.Map:
		hold(all, t.Elem())
	}
}

// planWriter finds writes, given the types of a package.
type planWriter struct {
	info *types.Info
	held map[*types.TypeName]bool // of plans and what they have
}

// inPlace are the functions of packages slices and maps that change their first argument.
var inPlace = []string{"slices.Sort", "slices.SortFunc", "slices.SortStableFunc", "slices.Reverse", "slices.Delete", "slices.DeleteFunc", "slices.Compact", "slices.CompactFunc", "maps.Copy", "maps.DeleteFunc", "delete", "clear", "copy"}

// targets returns what a node writes, or lets others write.
func (w planWriter) targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		return slices.DeleteFunc([]ast.Expr{n.Key, n.Value}, func(e ast.Expr) bool { return e == nil })
	case *ast.UnaryExpr:
		if _, element := ast.Unparen(n.X).(*ast.IndexExpr); n.Op == token.AND && !element { // a large element is read, too
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if slices.Contains(inPlace, types.ExprString(ast.Unparen(n.Fun))) && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// written returns the field of a plan that is written with an expression, "" for none, and whether a field of a
// plan or a job is: also one of a copy, while what these have can be copied.
func (w planWriter) written(e ast.Expr) (what string, edits bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.written(e.X)
	case *ast.IndexExpr:
		return w.written(e.X)
	case *ast.StarExpr:
		if name := w.name(w.info.TypeOf(e)); name != "" {
			return name, name == "Plan" || name == "Job"
		}
		return w.written(e.X)
	case *ast.SelectorExpr:
		return w.selected(e)
	}
	return "", false
}

// selected is written for a field.
func (w planWriter) selected(e *ast.SelectorExpr) (what string, edits bool) {
	s := w.info.Selections[e]
	if s == nil || s.Kind() != types.FieldVal {
		return "", false // a name of a package
	}
	_, element := ast.Unparen(e.X).(*ast.IndexExpr)
	of := s.Recv()
	for _, i := range s.Index() { // also of embedded structs
		pointer, indirect := of.Underlying().(*types.Pointer)
		if indirect {
			of = pointer.Elem()
		}
		field := of.Underlying().(*types.Struct).Field(i)
		name := w.name(of)
		if edits := name == "Plan" || name == "Job"; edits || name != "" && (indirect || element) {
			return name + "." + field.Name(), edits
		}
		of, element = field.Type(), false
	}
	return w.written(e.X)
}

// name returns the name of a type that plans have; "" for others.
func (w planWriter) name(t types.Type) string {
	if named, ok := t.(*types.Named); ok && w.held[named.Obj()] {
		return named.Obj().Name()
	}
	return ""
}
