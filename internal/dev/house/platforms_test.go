package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
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

// TestTypesOnOtherPlatforms checks the types of the module on other platforms than this one. It
// reads the source of all packages that are imported. To vet them, as .ci/cross does at night,
// they must be compiled, which is ten times as slow. On Windows main only prints that WSL is
// required.
func TestTypesOnOtherPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the source of hundreds of packages")
	}
	for _, platform := range []struct{ os, arch, packages string }{
		{"darwin", "arm64", "./..."},
		{"windows", "amd64", "."},
	} {
		t.Run(platform.os, func(t *testing.T) {
			checked := &checkedTypes{sizes: types.SizesFor("gc", platform.arch), done: map[string]*types.Package{"unsafe": types.Unsafe}}
			cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module", platform.packages)
			cmd.Env = append(os.Environ(), "GOOS="+platform.os, "GOARCH="+platform.arch, "CGO_ENABLED=0")
			cmd.Stderr = t.Output()
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
				var p listedPackage
				if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("decode the output of go list: %v", err)
				}
				for _, err := range checked.check(p) {
					t.Error(err)
				}
			}
			if checked.done[module] == nil {
				t.Error("main is not checked")
			}
		})
	}
}

// listedPackage is a package as go list prints it, after those that it imports.
type listedPackage struct {
	ImportPath string // with " [P.test]" if it is compiled for the tests of P
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string // import paths in the source whose packages have others
	Standard   bool
	Module     struct{ Path, GoVersion string }
}

// checkedTypes has the packages whose types have been checked, by import path.
type checkedTypes struct {
	sizes types.Sizes
	done  map[string]*types.Package
}

// check checks the types of a package, and of the bodies of its functions if it belongs to the
// module. It returns the errors in packages of the module.
func (c *checkedTypes) check(p listedPackage) (problems []error) {
	if strings.HasSuffix(p.ImportPath, ".test") || p.ImportPath == "unsafe" {
		return nil // main of the tests is generated
	}
	ours := p.Module.Path == module
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if found := c.done[cmp.Or(p.ImportMap[path], path)]; found != nil {
				return found, nil
			}
			return nil, errors.New("package not listed: " + path)
		}),
		IgnoreFuncBodies: !ours,
		Sizes:            c.sizes,
		Error: func(err error) {
			if ours {
				problems = append(problems, err)
			}
		},
	}
	if p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	c.done[p.ImportPath], _ = config.Check(path, set, files, nil)
	return problems
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
