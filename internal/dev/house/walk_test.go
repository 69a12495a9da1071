package house

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// mostTypes is how many types of events a function may know by itself.
const mostTypes = 4

// knowing lists the functions that know more, with reasons.
func knowing() map[string]string {
	return map[string]string{
		"report/counts": "a merge copies all events of a job; these are the exceptions",
	}
}

// TestFoldsDecideAboutEveryEvent finds folds without a decision about a type of events, and functions that decide about many by
// themselves, where a new type would be forgotten.
func TestFoldsDecideAboutEveryEvent(t *testing.T) {
	types := eventTypes(t)
	walks := 0
	unused := knowing()
	for dir, files := range sources(t) {
		for name, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if x, ok := n.Type.(*ast.IndexExpr); ok && isSelector(x.X, "event", "Walk") {
						walks++
						checkWalk(t, name, n, types)
					}
				case *ast.FuncDecl:
					key := filepath.ToSlash(dir) + "/" + n.Name.Name
					known := comparedTypes(n, types)
					if _, ok := unused[key]; ok && len(known) > mostTypes {
						delete(unused, key)
					} else if len(known) > mostTypes {
						t.Errorf("%s: %s knows the events %v: use event.Walk", name, n.Name.Name, known)
					}
				}
				return true
			})
		}
	}
	if walks < 5 {
		t.Errorf("found %d walks over events", walks)
	}
	for key := range unused {
		t.Errorf("%s is listed, and knows few types of events", key)
	}
}

// eventTypes returns the names of the constants of types.
func eventTypes(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, d := range sources(t)["internal/event"]["internal/event/event.go"].Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			if v := spec.(*ast.ValueSpec); isIdent(v.Type, "Type") {
				all[v.Names[0].Name] = true
			}
		}
	}
	if len(all) < 30 {
		t.Fatalf("found %d types of events", len(all))
	}
	return all
}

// checkWalk reports types that a walk has not, or twice.
func checkWalk(t *testing.T, file string, walk *ast.CompositeLit, types map[string]bool) {
	t.Helper()
	missing := maps.Clone(types)
	decide := func(x ast.Expr) {
		sel, ok := x.(*ast.SelectorExpr)
		if !ok || !missing[sel.Sel.Name] {
			t.Errorf("%s: a walk has twice, or an unknown type: %s", file, exprText(x))
			return
		}
		delete(missing, sel.Sel.Name)
	}
	for _, field := range walk.Elts {
		for _, x := range field.(*ast.KeyValueExpr).Value.(*ast.CompositeLit).Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				x = kv.Key
			}
			decide(x)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%s: a walk has not decided about the events %v: add them to On or Ignores", file, slices.Sorted(maps.Keys(missing)))
	}
}

// comparedTypes returns the types of events that a function compares with others.
func comparedTypes(f *ast.FuncDecl, types map[string]bool) []string {
	found := map[string]bool{}
	add := func(x ast.Expr) {
		if sel, ok := x.(*ast.SelectorExpr); ok && isIdent(sel.X, "event") && types[sel.Sel.Name] {
			found[sel.Sel.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, x := range n.List {
				add(x)
			}
		case *ast.BinaryExpr:
			add(n.X)
			add(n.Y)
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

func isSelector(x ast.Expr, pkg, name string) bool {
	sel, ok := x.(*ast.SelectorExpr)
	return ok && isIdent(sel.X, pkg) && sel.Sel.Name == name
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

func exprText(x ast.Expr) string {
	if sel, ok := x.(*ast.SelectorExpr); ok {
		return sel.Sel.Name
	}
	return "an expression"
}
