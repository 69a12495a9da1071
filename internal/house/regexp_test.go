package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// TestLazyExpressionsAreValid compiles the expressions of package lazyregexp, which panic at
// their first use otherwise.
func TestLazyExpressionsAreValid(t *testing.T) {
	count := 0
	for dir, files := range sources(t) {
		known := constants(files)
		for name, file := range files {
			count += lazyExpressions(t, dir+"/"+name, file, known)
		}
	}
	if count < 100 {
		t.Errorf("only %d expressions found", count)
	}
}

// lazyExpressions compiles the expressions in a file, and returns their number.
func lazyExpressions(t *testing.T, name string, file *ast.File, known map[string]ast.Expr) (count int) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		if fun, ok := call.Fun.(*ast.SelectorExpr); !ok || fun.Sel.Name != "New" || !named(fun.X, "lazyregexp") {
			return true
		}
		expr, ok := constant(call.Args[0], known)
		if !ok {
			t.Errorf("%s: lazyregexp.New needs a text that is written there", name)
			return true
		}
		if _, err := regexp.Compile(expr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		count++
		return true
	})
	return count
}

func named(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// constants returns the values of the constants of a package.
func constants(files map[string]*ast.File) map[string]ast.Expr {
	known := map[string]ast.Expr{}
	for _, file := range files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					known[v.Names[0].Name] = v.Values[0]
				}
			}
		}
	}
	return known
}

// constant returns the value of a string literal, a known constant, or a sum of them.
func constant(x ast.Expr, known map[string]ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.Ident:
		return constant(known[x.Name], known)
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, ok := constant(x.X, known)
		b, also := constant(x.Y, known)
		return a + b, ok && also
	case *ast.ParenExpr:
		return constant(x.X, known)
	}
	return "", false
}
