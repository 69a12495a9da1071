package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// shortNames is the number of tests whose names make no claim. It may only fall.
const shortNames = 13

// TestNamesOfTestsMakeClaims counts tests that are named by one or two words: their subject, so that nobody knows what
// does not hold if one fails. The cases of a table have names of their own.
func TestNamesOfTestsMakeClaims(t *testing.T) {
	var short []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "examples"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		found, err := withoutClaim(name)
		short = append(short, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(short) > shortNames {
		t.Errorf("%d tests have a name that makes no claim, at most %d: name a new one by a sentence that is false if it fails\n%s",
			len(short), shortNames, strings.Join(short, "\n"))
	}
	if len(short) < shortNames {
		t.Errorf("%d tests have a name that makes no claim: set shortNames to that", len(short))
	}
}

var declaredTest = regexp.MustCompile(`(?m)^func Test(\w+)\(t \*testing\.T\) \{`)

// withoutClaim returns the tests of a file with less than three words and without a table of cases. Most files have
// only longer names, and are not parsed.
func withoutClaim(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, found := range declaredTest.FindAllSubmatch(text, -1) {
		if words(string(found[1])) < 3 {
			tests["Test"+string(found[1])] = true
		}
	}
	if len(tests) == 0 {
		return nil, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var short []string
	tables := lists(file)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && tests[f.Name.Name] && f.Recv == nil && !hasCases(f.Body, tables) {
			short = append(short, name+": "+f.Name.Name)
		}
	}
	return short, nil
}

// words returns the number of words of a name such as JSONLogIsRead.
func words(name string) int {
	n, all := 0, []rune(name)
	for i, r := range all {
		if unicode.IsUpper(r) && (i == 0 || !unicode.IsUpper(all[i-1]) || i+1 < len(all) && unicode.IsLower(all[i+1])) {
			n++
		}
	}
	return n
}

// lists returns the names in a file that are assigned a list or a map.
func lists(file *ast.File) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if to, ok := n.Lhs[i].(*ast.Ident); ok && isList(value) {
					all[to.Name] = true
				}
			}
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if isList(value) {
					all[n.Names[i].Name] = true
				}
			}
		}
		return true
	})
	return all
}

func isList(e ast.Expr) bool {
	literal, ok := e.(*ast.CompositeLit)
	if !ok {
		return false
	}
	switch literal.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// hasCases reports whether a test has subtests, repeats something for each element of a list that it or its file
// contains, or gives one to a function that does.
func hasCases(body ast.Node, tables map[string]bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			named, ok := n.X.(*ast.Ident)
			found = found || isList(n.X) || ok && tables[named.Name]
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && method.Sel.Name == "Run" && len(n.Args) == 2 && isFunction(n.Args[1])
			if _, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
				found = found || isList(n.Args[len(n.Args)-1])
			}
		}
		return !found
	})
	return found
}

func isFunction(e ast.Expr) bool {
	_, ok := e.(*ast.FuncLit)
	return ok
}
