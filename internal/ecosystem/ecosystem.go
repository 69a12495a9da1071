// Package ecosystem knows the package managers of programming languages: the files
// that show which of them a workspace uses, the command that downloads its
// dependencies, the registries that they come from, the user's caches of them, and the files that
// builds and tests leave. It runs no command, and contacts no registry.
//
// Files of a workspace are untrusted: they decide which rows of the table apply, and
// which dependencies are looked for in the user's cache.
package ecosystem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Ecosystem is one package manager.
type Ecosystem struct {
	Name     string
	Registry string   // group of hosts in internal/permission/reach with its public registries
	Files    []File   // files that show its use; the first that exists decides
	Unless   []string // files that show that another one of the same language is used
	Locks    []string // files that list all dependencies
}

// File is a file that shows the use of an ecosystem.
type File struct {
	Pattern string // as of path.Match, without a directory
	Setup   string // command that downloads the dependencies
}

// All returns all ecosystems.
func All() []Ecosystem {
	return []Ecosystem{
		{Name: "go", Registry: "go", Files: []File{{"go.mod", "go mod download"}, {"go.work", "go mod download"}}, Locks: []string{"go.sum", "go.work"}},
		{
			Name: "npm", Registry: "npm", Unless: []string{"pnpm-lock.yaml", "yarn.lock"}, Locks: []string{"package-lock.json", "npm-shrinkwrap.json"},
			Files: []File{{"package-lock.json", "npm ci"}, {"npm-shrinkwrap.json", "npm ci"}, {"package.json", "npm install"}},
		},
		{Name: "pnpm", Registry: "npm", Files: []File{{"pnpm-lock.yaml", "pnpm install --frozen-lockfile"}}, Locks: []string{"pnpm-lock.yaml"}},
		{Name: "yarn", Registry: "npm", Files: []File{{"yarn.lock", "yarn install --frozen-lockfile"}}, Locks: []string{"yarn.lock"}},
		{
			Name: "pip", Registry: "pypi", Unless: []string{"poetry.lock", "uv.lock"},
			Files: []File{
				{"requirements.txt", "python3 -m pip install -r requirements.txt"},
				{"requirements*.txt", "python3 -m pip install -r FILE"},
				{"pyproject.toml", "python3 -m pip install -e ."},
				{"setup.py", "python3 -m pip install -e ."},
			},
		},
		{Name: "poetry", Registry: "pypi", Files: []File{{"poetry.lock", "poetry install"}}, Locks: []string{"poetry.lock"}},
		{Name: "uv", Registry: "pypi", Files: []File{{"uv.lock", "uv sync --locked"}}, Locks: []string{"uv.lock"}},
		{Name: "cargo", Registry: "crates", Files: []File{{"Cargo.lock", "cargo fetch --locked"}, {"Cargo.toml", "cargo fetch"}}, Locks: []string{"Cargo.lock"}},
		{Name: "maven", Registry: "maven", Files: []File{{"pom.xml", "mvn --batch-mode dependency:go-offline"}}},
		{
			Name: "gradle", Registry: "maven", Locks: []string{"gradle.lockfile"},
			Files: []File{
				{"gradlew", "./gradlew dependencies"},
				{"build.gradle", "gradle dependencies"},
				{"build.gradle.kts", "gradle dependencies"},
				{"settings.gradle", "gradle dependencies"},
				{"settings.gradle.kts", "gradle dependencies"},
			},
		},
		{Name: "bundler", Registry: "rubygems", Files: []File{{"Gemfile", "bundle install"}}, Locks: []string{"Gemfile.lock"}},
		{Name: "composer", Registry: "packagist", Files: []File{{"composer.json", "composer install --no-interaction"}}, Locks: []string{"composer.lock"}},
	}
}

// NamesDependencies reports whether a file, given by its name, decides which dependencies a setup command downloads.
func NamesDependencies(name string) bool {
	return slices.ContainsFunc(All(), func(e Ecosystem) bool {
		return slices.Contains(e.Locks, name) || slices.ContainsFunc(e.Files, func(f File) bool {
			matched, err := path.Match(f.Pattern, name)
			return matched && err == nil
		})
	})
}

// Found is an ecosystem that a directory of a workspace uses.
type Found struct {
	Ecosystem
	Dir   string   // relative to the workspace, with slashes; "." for itself
	File  string   // that decided
	Setup string   // command that downloads the dependencies, to be run in Dir
	Locks []string // those that exist
}

// The limits of a detection.
const (
	maxDepth   = 3      // of directories below the workspace
	maxDirs    = 256    // directories
	maxEntries = 20_000 // of all directories together
)

// Detect returns the ecosystems that a workspace uses, those of upper directories
// first. It looks at a limited number of directories, and only at the names of regular
// files: symlinks, hidden directories, and those in which package managers install are
// skipped.
func Detect(workspace *os.Root) ([]Found, error) {
	table := All()
	dirs, left := []string{"."}, maxEntries
	var all []Found
	for n := 0; n < len(dirs) && n < maxDirs && left > 0; n++ {
		files, below, read, err := list(workspace, dirs[n], left)
		if err != nil && n == 0 {
			return nil, fmt.Errorf("detect the package managers of the workspace: %w", err)
		}
		left -= read
		all = append(all, inDirectory(table, dirs[n], files)...)
		if depth(dirs[n]) < maxDepth {
			dirs = append(dirs, below...)
		}
	}
	return all, nil
}

// DetectAll is Detect for directories of this machine.
func DetectAll(dirs ...string) ([]Found, error) {
	var all []Found
	for _, dir := range slices.Compact(dirs) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		found, err := Detect(root)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// DetectIn is Detect for a workspace with these files, given by their paths with slashes.
func DetectIn(paths []string) []Found {
	files := map[string][]string{}
	for _, p := range paths {
		dir, name := path.Split(p)
		dir = path.Clean(dir)
		if depth(dir) <= maxDepth && !slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool { return s != "." && skipped(s) }) {
			files[dir] = append(files[dir], name)
		}
	}
	dirs := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a, b))
	})
	table := All()
	var all []Found
	for _, dir := range dirs[:min(len(dirs), maxDirs)] {
		slices.Sort(files[dir])
		all = append(all, inDirectory(table, dir, files[dir])...)
	}
	return all
}

// depth returns how many directories a path is below the workspace.
func depth(dir string) int { return strings.Count(path.Join("x", dir), "/") }

// Names returns the names of the ecosystems that were found, sorted.
func Names(all []Found) []string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WrapperHosts returns the hosts that the public distributions of Gradle come from if a
// gradlew was found, whatever distribution its settings name: services.gradle.org redirects to
// releases on GitHub.
func WrapperHosts(all []Found) []string {
	if !slices.ContainsFunc(all, func(f Found) bool { return f.File == "gradlew" }) {
		return nil
	}
	return []string{"downloads.gradle.org", "github.com", "release-assets.githubusercontent.com", "services.gradle.org"}
}

// list returns the names of the regular files of a directory, the paths of the
// directories below, both sorted, and the number of entries that were read.
func list(workspace *os.Root, dir string, most int) (files, below []string, read int, err error) {
	info, err := workspace.Lstat(dir)
	if err != nil || !info.IsDir() { // replaced by a symlink since
		return nil, nil, 1, errors.Join(err)
	}
	// Opened by its path, it is listed without a system call for each entry. Only names are read.
	f, err := os.Open(filepath.Join(workspace.Name(), dir))
	if err != nil {
		return nil, nil, 1, err
	}
	defer f.Close()
	entries, err := f.ReadDir(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	for _, e := range entries {
		switch {
		case e.Type().IsRegular():
			files = append(files, e.Name())
		case e.Type() == fs.ModeDir && !skipped(e.Name()):
			below = append(below, path.Join(dir, e.Name()))
		}
	}
	slices.Sort(files)
	slices.Sort(below)
	return files, below, len(entries) + 1, err
}

// skipped reports whether a directory has no manifests of its own: it is hidden, or
// holds installed packages or test data.
func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || slices.Contains([]string{"node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__", "testdata"}, dir)
}

// inDirectory returns the ecosystems of the table that the sorted files of one directory show.
func inDirectory(table []Ecosystem, dir string, files []string) []Found {
	var all []Found
	has := func(name string) bool { _, ok := slices.BinarySearch(files, name); return ok }
	for _, e := range table {
		if slices.ContainsFunc(e.Unless, has) {
			continue
		}
		file, name, ok := e.first(files)
		if !ok {
			continue
		}
		found := Found{Ecosystem: e, Dir: dir, File: name, Setup: strings.ReplaceAll(file.Setup, "FILE", quoted(name))}
		for _, lock := range e.Locks {
			if has(lock) {
				found.Locks = append(found.Locks, lock)
			}
		}
		all = append(all, found)
	}
	return all
}

// first returns the first file of the ecosystem that exists, and its name. The files are sorted.
func (e Ecosystem) first(files []string) (File, string, bool) {
	for _, f := range e.Files {
		if !strings.ContainsAny(f.Pattern, `*?[\`) {
			if _, ok := slices.BinarySearch(files, f.Pattern); ok {
				return f, f.Pattern, true
			}
			continue
		}
		for _, name := range files {
			if ok, err := path.Match(f.Pattern, name); ok && err == nil {
				return f, name, true
			}
		}
	}
	return File{}, "", false
}

// quoted quotes a name for a shell.
func quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" && !strings.HasPrefix(name, "-") {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
