//go:build linux

package linux

import (
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"testing"
)

// Everything is the same as in golang.org/x/sys/unix, on each architecture.
func TestTheConstantsAndTypesAreThoseOfUnix(t *testing.T) {
	architecture, cgo := build.Default.GOARCH, build.Default.CgoEnabled
	t.Cleanup(func() { build.Default.GOARCH, build.Default.CgoEnabled = architecture, cgo })
	build.Default.CgoEnabled = false
	if build.Default.GOROOT == "" { // with -trimpath
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
		t.Cleanup(func() { build.Default.GOROOT = "" })
	}
	for _, arch := range []string{"amd64", "arm64"} {
		build.Default.GOARCH = arch
		load := importer.ForCompiler(token.NewFileSet(), "source", nil)
		own, err := load.Import("github.com/millhand/millhand/internal/sandbox/linux")
		if err != nil {
			t.Fatal(err)
		}
		unix, err := load.Import("golang.org/x/sys/unix")
		if err != nil {
			t.Fatal(err)
		}
		constants := 0
		for _, name := range own.Scope().Names() {
			a, b := own.Scope().Lookup(name), unix.Scope().Lookup(name)
			if !a.Exported() {
				continue
			}
			if b == nil {
				t.Errorf("%s: %s is not in package unix", arch, name)
				continue
			}
			switch a := a.(type) {
			case *types.Const:
				constants++
				if b, ok := b.(*types.Const); !ok || a.Val().ExactString() != b.Val().ExactString() {
					t.Errorf("%s: %s is %s, should be %s", arch, name, a, b)
				}
			case *types.TypeName:
				if x, y := a.Type().Underlying().String(), b.Type().Underlying().String(); x != y {
					t.Errorf("%s: %s is %s, should be %s", arch, name, x, y)
				}
			}
		}
		if constants < 100 {
			t.Errorf("%s: only %d constants", arch, constants)
		}
	}
}
