package ecosystem

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// artifact is a file or directory that programs of an ecosystem leave in a workspace: what they
// built, downloaded or recorded. Nobody commits it deliberately without tracking it first.
type artifact struct {
	of    string // for people
	names string // separated by spaces, as of path.Match; a directory ends with a slash
	// beside has names of files, as of path.Match, of which one must be in the directory of the
	// artifact, because others use its name for sources; "" for none.
	beside string
}

// artifacts is the table of what is left by ecosystem.
func artifacts() []artifact {
	return []artifact{
		{of: "Python", names: "__pycache__/ *.pyc *.pyo .pytest_cache/ .mypy_cache/ .ruff_cache/ .tox/ .nox/ .venv/ *.egg-info/ .eggs/ .coverage .coverage.* htmlcov/ .hypothesis/ .ipynb_checkpoints/ site-packages/ .pytype/"},
		{of: "Python", names: "venv/ build/ dist/ coverage.xml", beside: "pyproject.toml setup.py setup.cfg requirements*.txt tox.ini"},
		{of: "JavaScript", names: "node_modules/ bower_components/ .next/ .nuxt/ .turbo/ .parcel-cache/ .svelte-kit/ .angular/ .nyc_output/ .eslintcache *.tsbuildinfo npm-debug.log* yarn-debug.log* yarn-error.log* .pnpm-store/"},
		{of: "JavaScript", names: "dist/ build/ out/ coverage/", beside: "package.json"},
		{of: "Go", names: "coverage.out cover.out *.coverprofile *.test.exe"},
		{of: "Go", names: "*.test *.prof", beside: "*.go"},
		{of: "Rust, Maven, sbt", names: "target/"},
		{of: "Gradle", names: ".gradle/"},
		{of: "Gradle", names: "build/", beside: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"},
		{of: "Java", names: "*.class hs_err_pid*.log"},
		{of: ".NET", names: "bin/ obj/ TestResults/", beside: "*.csproj *.fsproj *.vbproj *.sln"},
		{of: "Ruby", names: ".bundle/"},
		{of: "Ruby", names: "coverage/ vendor/bundle/", beside: "Gemfile"},
		{of: "PHP", names: ".phpunit.result.cache .phpunit.cache/ .php-cs-fixer.cache"},
		{of: "PHP", names: "vendor/", beside: "composer.json"},
		{of: "C, C++", names: "*.o *.gcda *.gcno *.gcov CMakeFiles/ CMakeCache.txt a.out"},
		{of: "Elixir", names: "_build/ deps/", beside: "mix.exs"},
		{of: "Haskell", names: "dist-newstyle/ .stack-work/"},
		{of: "Dart", names: ".dart_tool/"},
		{of: "Swift, CocoaPods", names: ".build/ Pods/", beside: "Package.swift Podfile"},
		{of: "Zig", names: "zig-cache/ .zig-cache/ zig-out/"},
		{of: "Elm", names: "elm-stuff/"},
		{of: "Terraform", names: ".terraform/"},
		{of: "a crash", names: "core core.[0-9]* vgcore.[0-9]*"},
		{of: "an editor or desktop", names: ".DS_Store Thumbs.db *.swp *.swo"},
	}
}

// NamesArtifacts reports whether a directory with a name is one of artifacts in some workspace, whatever is beside it.
func NamesArtifacts(dir string) bool {
	return slices.ContainsFunc(artifacts(), func(r artifact) bool {
		r.beside = ""
		return r.matches(dir, true, nil)
	})
}

// Artifacts recognizes build artifacts by their paths. The zero value is ready to use.
type Artifacts struct {
	Workspace fs.FS // nil has no files

	dirs  map[string]bool     // whether names in a directory beside a file of the table are artifacts
	names map[string][]string // of the files in directories
}

// Find returns the path of the artifact that a path with slashes is, or is in, which ends with a
// slash if it is a directory; "" for none.
func (a *Artifacts) Find(file string) string {
	for i := range len(file) {
		if file[i] == '/' && a.is(file[:i], true) {
			return file[:i+1]
		}
	}
	if a.is(file, false) {
		return file
	}
	return ""
}

func (a *Artifacts) is(name string, isDir bool) bool {
	if known, ok := a.dirs[name]; isDir && ok {
		return known
	}
	found := slices.ContainsFunc(artifacts(), func(r artifact) bool { return r.matches(name, isDir, a.has) })
	if isDir {
		if a.dirs == nil {
			a.dirs = map[string]bool{}
		}
		a.dirs[name] = found
	}
	return found
}

// has reports whether a directory of the workspace has a file whose name matches a pattern, as of path.Match.
func (a *Artifacts) has(dir, pattern string) bool {
	list, ok := a.names[dir]
	if !ok {
		if a.Workspace != nil {
			entries, _ := fs.ReadDir(a.Workspace, dir) // has no files then
			for _, e := range entries {
				list = append(list, e.Name())
			}
		}
		if a.names == nil {
			a.names = map[string][]string{}
		}
		a.names[dir] = list
	}
	return slices.ContainsFunc(list, func(name string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

func (r artifact) matches(name string, isDir bool, has func(dir, pattern string) bool) bool {
	for pattern := range strings.FieldsSeq(r.names) {
		of, forDir := strings.CutSuffix(pattern, "/")
		if forDir != isDir {
			continue
		}
		tail := name
		for range strings.Count(name, "/") - strings.Count(of, "/") {
			_, tail, _ = strings.Cut(tail, "/")
		}
		if ok, err := path.Match(of, tail); err != nil || !ok {
			continue
		}
		dir := path.Clean(strings.TrimSuffix(name, tail))
		if r.beside == "" || has != nil && slices.ContainsFunc(strings.Fields(r.beside), func(p string) bool { return has(dir, p) }) {
			return true
		}
	}
	return false
}
