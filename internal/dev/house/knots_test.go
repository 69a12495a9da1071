package house

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The measures of a package that one can hold in the head.
const (
	mostLines     = 5000 // without tests
	mostKnotted   = 3000 // lines of files that need one another in a circle
	mostPairs     = 4    // pairs of files that use each other, for 1,000 lines,
	pairsFrom     = 3000 // of a package with more lines
	mostFunctions = 40   // methods of a type, and functions whose first or second parameter it is
)

// knot is what is measured of a package.
type knot struct {
	lines   int
	knotted int // lines of the files that need one another in a circle, in the largest one
	pairs   int // of files that use each other
}

// TestPackagesCanBeHeldInTheHead prints the measures of the largest packages and of those with the most pairs, and fails where one exceeds
// them.
func TestPackagesCanBeHeldInTheHead(t *testing.T) {
	all := map[string]knot{}
	for dir, files := range sources(t) {
		if !strings.HasPrefix(dir, "internal/testing/") && !strings.HasPrefix(dir, "internal/dev/") {
			all[dir] = newPackageFiles(t, files).measure()
		}
	}
	byLines := func(a, b string) int { return cmp.Or(all[b].lines-all[a].lines, cmp.Compare(a, b)) }
	for i, dir := range slices.SortedFunc(maps.Keys(all), byLines) {
		k := all[dir]
		if i < 12 {
			t.Logf("%s: %d lines, %d of them in the largest knot, %d pairs (%.1f for 1,000 lines)", dir, k.lines, k.knotted, k.pairs, float64(k.pairs)*1000/float64(k.lines))
		}
		if !k.within() {
			t.Errorf("%s: %+v: divide it", dir, k)
		}
	}
	byPairs := func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].pairs*all[a].lines, all[a].pairs*all[b].lines), cmp.Compare(a, b))
	}
	inPairs := slices.DeleteFunc(slices.SortedFunc(maps.Keys(all), byPairs), func(dir string) bool { return all[dir].lines < pairsFrom/3 })
	for _, dir := range inPairs[:12] { // the measure is no limit for them: their pairs show what to divide next
		k := all[dir]
		t.Logf("%s: %d pairs in %d lines (%.1f for 1,000)", dir, k.pairs, k.lines, float64(k.pairs)*1000/float64(k.lines))
	}
}

func (k knot) within() bool {
	return k.lines <= mostLines && k.knotted <= mostKnotted && (k.lines <= pairsFrom || k.pairs*1000 <= mostPairs*k.lines)
}

// packageFiles is which file of a package defines and uses which names.
type packageFiles struct {
	lines   map[string]int
	defines map[string]string          // file of a function, type, variable or constant of the package
	methods map[string]map[string]bool // files with methods of a name
	uses    map[string]map[string]bool // by file: names, and ".NAME" for those after a dot
}

func newPackageFiles(t *testing.T, files map[string]*ast.File) packageFiles {
	t.Helper()
	p := packageFiles{map[string]int{}, map[string]string{}, map[string]map[string]bool{}, map[string]map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) { // of a name that each platform defines, the first counts
		file := files[name]
		p.lines[name] = strings.Count(read(t, name), "\n")
		p.uses[name] = map[string]bool{}
		for _, d := range file.Decls {
			p.define(name, d)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				p.uses[name]["."+n.Sel.Name] = true
			case *ast.Ident:
				p.uses[name][n.Name] = true
			}
			return true
		})
	}
	return p
}

func (p packageFiles) define(file string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.setFile(d.Name.Name, file)
			return
		}
		if p.methods[d.Name.Name] == nil {
			p.methods[d.Name.Name] = map[string]bool{}
		}
		p.methods[d.Name.Name][file] = true
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return
		}
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				p.setFile(spec.Name.Name, file)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					p.setFile(name.Name, file)
				}
			}
		}
	}
}

func (p packageFiles) setFile(name, file string) { p.defines[name] = cmp.Or(p.defines[name], file) }

// needs returns the files that each file uses: by the names of their definitions, and by those of methods that no
// other file has.
func (p packageFiles) needs() map[string][]string {
	all := map[string][]string{}
	for file, names := range p.uses {
		used := map[string]bool{}
		for name := range names {
			if method, ok := strings.CutPrefix(name, "."); !ok {
				used[p.defines[name]] = true
			} else if files := p.methods[method]; len(files) == 1 {
				used[slices.Collect(maps.Keys(files))[0]] = true
			}
		}
		delete(used, "")
		delete(used, file)
		all[file] = slices.Sorted(maps.Keys(used))
	}
	return all
}

func (p packageFiles) measure() knot {
	var k knot
	needs := p.needs()
	reached := map[string]map[string]bool{}
	for file := range p.lines {
		reached[file] = map[string]bool{}
		follow(needs, file, reached[file])
	}
	for file, lines := range p.lines {
		k.lines += lines
		circle := 0
		for other := range reached[file] {
			if reached[other][file] {
				circle += p.lines[other]
			}
			if other > file && slices.Contains(needs[file], other) && slices.Contains(needs[other], file) {
				k.pairs++
			}
		}
		k.knotted = max(k.knotted, circle)
	}
	return k
}

// follow adds the files that a file needs, directly or not.
func follow(needs map[string][]string, file string, to map[string]bool) {
	for _, next := range needs[file] {
		if !to[next] {
			to[next] = true
			follow(needs, next, to)
		}
	}
}

// crowded lists the types with more methods and functions than mostFunctions, with how many they have: it may only
// fall, and has at most five rows.
func crowded() map[string]int {
	return map[string]int{
		"tools/shell/walker": 81, // one function for each kind of node of the shell's grammar, which all change the same state
	}
}

// TestTypesAreNotCrowded counts methods together with functions that have the type as first or second parameter, and with the methods
// of a type whose only field points to it: a method that moved to such a type or became a function is no division.
func TestTypesAreNotCrowded(t *testing.T) {
	counts := map[string]int{}
	for dir, files := range sources(t) {
		if strings.HasPrefix(dir, "internal/testing/") || strings.HasPrefix(dir, "internal/dev/") {
			continue
		}
		own := map[string]string{} // types of the package → those that they count with
		for _, file := range files {
			for _, d := range file.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					for _, spec := range g.Specs {
						spec := spec.(*ast.TypeSpec)
						own[spec.Name.Name] = cmp.Or(pointsTo(spec.Type), spec.Name.Name)
					}
				}
			}
		}
		for _, file := range files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					for name := range taken(f, own) {
						counts[path.Join(dir, name)]++
					}
				}
			}
		}
	}
	for _, name := range largest(counts, 12) {
		t.Logf("%s has %d methods and functions", name, counts[name])
	}
	for name, n := range counts {
		if most, listed := crowded()[name]; listed && n <= mostFunctions {
			t.Errorf("%s is within the measure: remove its row", name)
		} else if n > max(most, mostFunctions) {
			t.Errorf("%s has %d methods and functions, at most %d", name, n, max(most, mostFunctions))
		}
	}
}

// taken returns the types of a package that the receiver and the first two parameters of a function count with.
func taken(f *ast.FuncDecl, own map[string]string) map[string]bool {
	names := map[string]bool{}
	add := func(t ast.Expr) {
		name := own[typeName(t)]
		if to := own[name]; to != "" { // "" for types of other packages
			names[to] = true
		}
	}
	if f.Recv != nil {
		add(f.Recv.List[0].Type)
		return names
	}
	at := 0
	for _, field := range f.Type.Params.List {
		if at < 2 {
			add(field.Type)
		}
		at += max(1, len(field.Names))
	}
	return names
}

// pointsTo returns the name of the type to which the only field of a struct points; "" for other types.
func pointsTo(t ast.Expr) string {
	s, ok := t.(*ast.StructType)
	if !ok || len(s.Fields.List) != 1 || len(s.Fields.List[0].Names) > 1 {
		return ""
	}
	p, ok := s.Fields.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	return typeName(p)
}

// typeName returns the name of a type of the same package, also behind a pointer; "" for others.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
