package ecosystem

import (
	"testing"
	"testing/fstest"
)

func TestArtifactsAreFoundByPath(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"package.json", "py/setup.py", "java/pom.xml", "php/composer.json", "net/x.csproj", "go/main.go", "ruby/Gemfile"} {
		files[name] = &fstest.MapFile{}
	}
	a := &Artifacts{Workspace: files}
	for file, want := range map[string]string{
		"node_modules/x/i.js": "node_modules/", "a/node_modules/x": "a/node_modules/", "dist/app.js": "dist/", "a/dist/app.js": "",
		"py/build/lib/x.py": "py/build/", "other/build/x": "", "__pycache__/a.pyc": "__pycache__/", "src/a.pyc": "src/a.pyc", "src/a.py": "",
		".coverage": ".coverage", ".coverage.host.1": ".coverage.host.1", "coverage.out": "coverage.out", "coverage/index.html": "coverage/", "docs/coverage/index.md": "",
		"target/debug/app": "target/", "a/target/x.jar": "a/target/", "target": "", "core.12345": "core.12345", "core": "core", "core/main.go": "", "core.go": "", "core.1/x": "",
		"php/vendor/a/b.php": "php/vendor/", "vendor/a.go": "", "net/bin/x.dll": "net/bin/", "bin/run.sh": "", "go/pkg.test": "go/pkg.test", "x.test": "",
		"ruby/vendor/bundle/x.rb": "ruby/vendor/bundle/", "ruby/vendor/own.rb": "", "vendor/bundle/x": "", ".venv/lib/x.py": ".venv/", "a.o": "a.o", "a.out": "a.out",
	} {
		if got := a.Find(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestNamesOfArtifacts(t *testing.T) {
	for name, want := range map[string]bool{
		"node_modules": true, "vendor": true, "build": true, "venv": true, "deps": true, "x.egg-info": true, "bin": true,
		"src": false, "core": false, "a.pyc": false, "bundle": false, "vendored": false,
	} {
		if NamesArtifacts(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
