package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	goimporter "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// product is the type-checked packages of the product.
type product struct {
	set      *token.FileSet
	packages []*checkedPackage // after those that they import
	byPath   map[string]*checkedPackage
}

type checkedPackage struct {
	dir   string
	types *types.Package
	info  *types.Info
	files []*ast.File
	below map[string]bool // import paths of the packages of the module that it imports, directly or not
}

// loadProduct checks the types of the product from its source, and those of what it imports from what go list compiled.
func loadProduct(t *testing.T) *product {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export,Module", ".")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	p := &product{set: token.NewFileSet(), byPath: map[string]*checkedPackage{}}
	compiled := map[string]string{}
	others := goimporter.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			listedPackage
			Export string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return p
		} else if err != nil {
			t.Fatalf("decode the output of go list: %v", err)
		}
		if listed.Module.Path == module {
			p.check(t, listed.listedPackage, others)
		} else {
			compiled[listed.ImportPath] = listed.Export
		}
	}
}

func (p *product) check(t *testing.T, listed listedPackage, others types.Importer) {
	t.Helper()
	pkg := &checkedPackage{dir: strings.TrimPrefix(listed.ImportPath, module+"/"), below: map[string]bool{}}
	for _, name := range listed.GoFiles {
		file, err := parser.ParseFile(p.set, filepath.Join(listed.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		pkg.files = append(pkg.files, file)
	}
	pkg.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer(func(path string) (*types.Package, error) {
		own := p.byPath[path]
		if own == nil {
			return others.Import(path)
		}
		pkg.below[path] = true
		for below := range own.below {
			pkg.below[below] = true
		}
		return own.types, nil
	})}
	var err error
	if pkg.types, err = config.Check(listed.ImportPath, p.set, pkg.files, pkg.info); err != nil {
		t.Fatal(err)
	}
	p.packages = append(p.packages, pkg)
	p.byPath[listed.ImportPath] = pkg
}

// hasFunctions reports whether values of a type are functions, or lists or maps of them.
func hasFunctions(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Slice:
		return hasFunctions(t.Elem())
	case *types.Map:
		return hasFunctions(t.Elem())
	}
	return false
}

// typeNames returns the types that a package defines.
func (p *checkedPackage) typeNames() (all []*types.TypeName) {
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
			all = append(all, t)
		}
	}
	return all
}

// flow is which expressions become the value of each variable, field, parameter and result whose values are functions.
type flow struct {
	product *product
	values  map[types.Object][]value
}

// value is an expression, or one result of a call.
type value struct {
	in   *checkedPackage
	expr ast.Expr
	at   int // which result, of a call
}

func newFlow(p *product) *flow {
	f := &flow{p, map[types.Object][]value{}}
	for _, pkg := range p.packages {
		for _, file := range pkg.files {
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					f.read(pkg, fn, pkg.info.Defs[fn.Name].Type().(*types.Signature))
				} else {
					f.read(pkg, d, nil)
				}
			}
		}
	}
	return f
}

// read reads a declaration or a function, of which it knows the signature.
func (f *flow) read(pkg *checkedPackage, root ast.Node, of *types.Signature) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != root {
				f.read(pkg, n, pkg.info.Types[n].Type.(*types.Signature))
				return false
			}
		case *ast.ReturnStmt:
			f.result(pkg, of.Results(), n.Results)
		case *ast.CallExpr:
			f.call(pkg, n)
		case *ast.CompositeLit:
			f.composite(pkg, n)
		case *ast.AssignStmt:
			f.assign(pkg, n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			to := make([]ast.Expr, len(n.Names))
			for i, name := range n.Names {
				to[i] = name
			}
			f.assign(pkg, to, n.Values)
		case *ast.RangeStmt:
			if n.Value != nil {
				f.assign(pkg, []ast.Expr{n.Value}, []ast.Expr{n.X})
			}
		}
		return true
	})
}

func (f *flow) add(to types.Object, v value) {
	if to != nil && hasFunctions(to.Type()) {
		if o, ok := to.(*types.Var); ok {
			to = o.Origin()
		}
		f.values[to] = append(f.values[to], v)
	}
}

func (f *flow) result(pkg *checkedPackage, to *types.Tuple, from []ast.Expr) {
	for i := range to.Len() {
		if len(from) == to.Len() {
			f.add(to.At(i), value{pkg, from[i], 0})
		} else if len(from) == 1 {
			f.add(to.At(i), value{pkg, from[0], i})
		}
	}
}

func (f *flow) assign(pkg *checkedPackage, to, from []ast.Expr) {
	for i, x := range to {
		if len(from) == len(to) {
			f.add(pkg.variable(x), value{pkg, from[i], 0})
		} else if len(from) == 1 {
			f.add(pkg.variable(x), value{pkg, from[0], i})
		}
	}
}

func (f *flow) call(pkg *checkedPackage, n *ast.CallExpr) {
	callee, ok := pkg.object(n.Fun).(*types.Func)
	if !ok {
		return
	}
	params := callee.Origin().Signature().Params()
	for i, arg := range n.Args {
		if at := min(i, params.Len()-1); at >= 0 {
			f.add(params.At(at), value{pkg, arg, 0})
		}
	}
}

func (f *flow) composite(pkg *checkedPackage, n *ast.CompositeLit) {
	t := pkg.info.Types[n].Type.Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	s, ok := t.(*types.Struct)
	if !ok {
		return
	}
	for i, x := range n.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			f.add(pkg.object(kv.Key), value{pkg, kv.Value, 0})
		} else {
			f.add(s.Field(i), value{pkg, x, 0})
		}
	}
}

// variable returns the variable or field that an expression is of, nil if none.
func (p *checkedPackage) variable(x ast.Expr) types.Object {
	if i, ok := ast.Unparen(x).(*ast.IndexExpr); ok {
		return p.variable(i.X)
	}
	return p.object(x)
}

// object returns what a name or qualified name means.
func (p *checkedPackage) object(x ast.Expr) types.Object {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		if def := p.info.Defs[x]; def != nil {
			return def
		}
		return p.info.Uses[x]
	case *ast.SelectorExpr:
		return p.info.Uses[x.Sel]
	case *ast.IndexExpr: // an instance
		return p.object(x.X)
	case *ast.IndexListExpr:
		return p.object(x.X)
	}
	return nil
}

// function is a function that becomes the value of a variable.
type function struct {
	pkg  string // import path of the package that has its body, or only declares it
	name string // or the position of a literal
}

// implementations returns the packages with the functions that become the value of a variable, one for each: directories
// of the product, or import paths.
func (f *flow) implementations(of types.Object) (all []string) {
	found := map[function]*types.Signature{}
	f.follow(of, found, map[types.Object]bool{})
	for fn := range found {
		all = append(all, strings.TrimPrefix(fn.pkg, module+"/"))
	}
	return all
}

func (f *flow) follow(of types.Object, found map[function]*types.Signature, seen map[types.Object]bool) {
	if v, ok := of.(*types.Var); ok {
		of = v.Origin()
	}
	if !seen[of] {
		seen[of] = true
		for _, v := range f.values[of] {
			f.resolve(v, found, seen)
		}
	}
}

func (f *flow) resolve(v value, found map[function]*types.Signature, seen map[types.Object]bool) {
	info := v.in.info
	switch x := ast.Unparen(v.expr).(type) {
	case *ast.FuncLit:
		found[function{v.in.types.Path(), f.product.set.Position(x.Pos()).String()}] = info.Types[x].Type.(*types.Signature)
	case *ast.CompositeLit:
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			f.resolve(value{v.in, e, 0}, found, seen)
		}
	case *ast.CallExpr:
		f.resolveCall(value{v.in, x, v.at}, found, seen)
	default:
		switch o := v.in.variable(v.expr).(type) {
		case *types.Func:
			fn := function{"", o.FullName()}
			if o.Pkg() != nil {
				fn.pkg = o.Pkg().Path()
			}
			found[fn] = o.Origin().Signature()
		case *types.Var:
			f.follow(o, found, seen)
		}
	}
}

// resolveCall resolves a result of a call: the values that the function returns. Of one that is not of the product, these are its
// arguments, such as those of sync.OnceValue, or else functions of its package.
func (f *flow) resolveCall(v value, found map[function]*types.Signature, seen map[types.Object]bool) {
	call := v.expr.(*ast.CallExpr)
	if callee := v.in.info.Types[call.Fun]; callee.IsType() || callee.IsBuiltin() { // a conversion, or append
		for _, arg := range call.Args {
			f.resolve(value{v.in, arg, 0}, found, seen)
		}
		return
	}
	callees := map[function]*types.Signature{}
	f.resolve(value{v.in, call.Fun, 0}, callees, map[types.Object]bool{})
	for callee, signature := range callees {
		if f.product.byPath[callee.pkg] != nil {
			f.follow(signature.Results().At(v.at), found, seen)
			continue
		}
		given := len(found)
		for _, arg := range call.Args {
			if hasFunctions(v.in.info.Types[arg].Type) {
				f.resolve(value{v.in, arg, 0}, found, seen)
			}
		}
		if len(found) == given {
			found[function{callee.pkg, "a result of " + callee.name}] = signature.Results().At(v.at).Type().Underlying().(*types.Signature)
		}
	}
}
