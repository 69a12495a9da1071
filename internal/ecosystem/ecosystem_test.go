package ecosystem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/ecosystem"
)

// detect returns what is detected in a directory with empty files, as
// "NAME DIR: SETUP".
func detect(t *testing.T, dir string) []string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all, err := ecosystem.Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range all {
		texts = append(texts, fmt.Sprintf("%s %s: %s", f.Name, f.Dir, f.Setup))
	}
	return texts
}

func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDetect(t *testing.T) {
	tests := []struct{ files, want string }{
		{"main.c Makefile", ""},
		{"go.mod", "go .: go mod download"},
		{"package.json", "npm .: npm install"},
		{"package.json package-lock.json", "npm .: npm ci"},
		{"package.json npm-shrinkwrap.json", "npm .: npm ci"},
		{"package.json pnpm-lock.yaml", "pnpm .: pnpm install --frozen-lockfile"},
		{"package.json yarn.lock", "yarn .: yarn install --frozen-lockfile"},
		{"requirements.txt requirements-dev.txt", "pip .: python3 -m pip install -r requirements.txt"},
		{"requirements-dev.txt", "pip .: python3 -m pip install -r requirements-dev.txt"},
		{"requirements;id.txt", "pip .: python3 -m pip install -r 'requirements;id.txt'"},
		{"pyproject.toml", "pip .: python3 -m pip install -e ."},
		{"pyproject.toml poetry.lock", "poetry .: poetry install"},
		{"pyproject.toml uv.lock requirements.txt", "uv .: uv sync --locked"},
		{"Cargo.toml", "cargo .: cargo fetch"},
		{"Cargo.toml Cargo.lock", "cargo .: cargo fetch --locked"},
		{"pom.xml", "maven .: mvn --batch-mode dependency:go-offline"},
		{"build.gradle gradlew", "gradle .: ./gradlew dependencies"},
		{"build.gradle.kts", "gradle .: gradle dependencies"},
		{"Gemfile", "bundler .: bundle install"},
		{"composer.json", "composer .: composer install --no-interaction"},
		{"go.mod web/package.json web/package-lock.json", "go .: go mod download, npm web: npm ci"},
		{"a/b/c/go.mod a/b/c/d/go.mod", "go a/b/c: go mod download"},
		{"node_modules/x/package.json vendor/x/go.mod .tox/x/setup.py testdata/go.mod", ""},
	}
	for _, tt := range tests {
		t.Run(tt.files, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, strings.Fields(tt.files)...)
			if got := strings.Join(detect(t, dir), ", "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var paths []string
			for _, f := range ecosystem.DetectIn(strings.Fields(tt.files)) {
				paths = append(paths, fmt.Sprintf("%s %s: %s", f.Name, f.Dir, f.Setup))
			}
			if got := strings.Join(paths, ", "); got != tt.want {
				t.Errorf("by paths: got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDetectFollowsNoSymlinks: a symlink could show files of other directories.
func TestDetectFollowsNoSymlinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "go.mod", "package.json")
	for name, target := range map[string]string{"sub": outside, "go.mod": filepath.Join(outside, "go.mod"), "self": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "package.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := detect(t, dir); got != nil {
		t.Errorf("detected %s", got)
	}
}

// A workspace that is the entire working tree is searched once.
func TestDirectoriesThatAreTheSameAreSearchedOnce(t *testing.T) {
	tree := t.TempDir()
	write(t, tree, "go.mod", "sub/package.json")
	sub := filepath.Join(tree, "sub")
	for want, dirs := range map[int][]string{0: nil, 2: {tree, tree}, 3: {tree, sub}, 1: {sub}} {
		if found, err := ecosystem.DetectAll(dirs...); err != nil || len(found) != want {
			t.Errorf("%q: %d package managers, want %d: %v", dirs, len(found), want, err)
		}
	}
	if _, err := ecosystem.DetectAll(tree, filepath.Join(tree, "missing")); err == nil {
		t.Error("a missing directory has package managers")
	}
}

// TestDetectIsBounded: only the first of many directories are searched.
func TestDetectIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir := t.TempDir()
	write(t, dir, "go.mod")
	for i := range 300 {
		write(t, dir, fmt.Sprintf("m%03d/go.mod", i))
	}
	if got := len(detect(t, dir)); got != 256 {
		t.Errorf("%d directories were searched, want 256", got)
	}
}

func TestTheTableIsComplete(t *testing.T) {
	var names []string
	for _, e := range ecosystem.All() {
		names = append(names, e.Name)
		if len(e.Files) == 0 || e.Registry == "" {
			t.Errorf("%s has no files or no registry", e.Name)
		}
	}
	want := strings.Fields("go npm pnpm yarn pip poetry uv cargo maven gradle bundler composer")
	if !slices.Equal(names, want) {
		t.Errorf("got %s, want %s", names, want)
	}
}
