package house

import (
	"go/ast"
	"regexp"
	"strconv"
	"testing"
)

// TestLazyExpressionsAreValid compiles the expressions of package lazyregexp, which panic at
// their first use otherwise.
func TestLazyExpressionsAreValid(t *testing.T) {
	count := 0
	for dir, files := range sources(t) {
		for name, file := range files {
			count += lazyExpressions(t, dir+"/"+name, file)
		}
	}
	if count < 100 {
		t.Errorf("only %d expressions found", count)
	}
}

// lazyExpressions compiles the expressions in a file, and returns their number.
func lazyExpressions(t *testing.T, name string, file *ast.File) (count int) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		if fun, ok := call.Fun.(*ast.SelectorExpr); !ok || fun.Sel.Name != "New" || !named(fun.X, "lazyregexp") {
			return true
		}
		expr, ok := constant(call.Args[0])
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

// constant returns the value of a string literal or a sum of them.
func constant(x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, ok := constant(x.X)
		b, also := constant(x.Y)
		return a + b, ok && also
	case *ast.ParenExpr:
		return constant(x.X)
	}
	return "", false
}
