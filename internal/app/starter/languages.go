package starter

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/ecosystem"
)

var (
	pytest = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?mi)^\s*["']?pytest\b|["']pytest\b|\[tool\.pytest|\[pytest\]|\[tool:pytest\]`)
	})
	// pytestExtra matches an extra of a pyproject.toml that installs pytest.
	pytestExtra = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)\[project\.optional-dependencies\].*?\n([A-Za-z0-9_-]+)\s*=\s*\[[^\]]*?["']pytest\b`)
	})
	testUnittest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(?:import|from)\s+unittest\b`) })
)

// requirements are the files whose packages tests can need.
var requirements = []string{"requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt", "test-requirements.txt"}

// python returns the package manager of a Python project, the command that installs its
// dependencies, never into the system's Python, and the command that tests it.
func python(root *os.Root, f ecosystem.Found) (name, setup, test string) {
	file := func(name string) string { return read(root, path.Join(f.Dir, name)) }
	project := file("pyproject.toml")
	uses := pytest().MatchString(project + "\n" + file("setup.cfg") + "\n" + file("pytest.ini") + "\n" + file("tox.ini"))
	name, setup = f.Name, f.Setup
	switch {
	case name == "pip" && strings.Contains(project, "[tool.poetry]"):
		name, setup = "poetry", "poetry install"
	case name == "pip" && strings.Contains(project, "[tool.uv"):
		name, setup = "uv", "uv sync"
	}
	run := map[string]string{"poetry": "poetry run ", "uv": "uv run --offline "}[name]
	var install []string
	installed := ""
	for _, list := range requirements {
		if text := file(list); text != "" {
			install, installed = append(install, "-r "+list), installed+"\n"+text
		}
	}
	uses = uses || pytest().MatchString(installed)
	if name == "pip" {
		run = ".venv/bin/python -m "
		if extra := pytestExtra().FindStringSubmatch(project); extra != nil {
			install = append(install, "-e '.["+extra[1]+"]'")
			installed += "\npytest"
		} else if f.File == "pyproject.toml" || f.File == "setup.py" {
			install = append(install, "-e .")
		}
		if len(install) == 0 {
			install = []string{strings.TrimPrefix(f.Setup, "python3 -m pip install ")}
			installed = file(f.File)
		}
		if uses && !pytest().MatchString(installed) {
			install = append(install, "pytest")
		}
		setup = "python3 -m venv .venv && .venv/bin/pip install " + strings.Join(install, " ")
	}
	if uses || pytest().MatchString(installed) {
		return name, setup, run + "pytest"
	}
	if test = unittest(root, f.Dir); test == "" {
		return name, setup, ""
	}
	if name == "pip" {
		return name, setup, ".venv/bin/python " + test
	}
	return name, setup, run + "python " + test
}

// unittest returns the arguments of Python that run the tests of a directory, "" if it has none
// of the module unittest.
func unittest(root *os.Root, dir string) string {
	for _, in := range []string{".", "tests", "test"} {
		at := path.Join(dir, in)
		for _, name := range names(root, at) {
			if ok, err := path.Match("test*.py", name); err != nil || !ok || !testUnittest().MatchString(read(root, path.Join(at, name))) {
				continue
			}
			if in == "." || slices.Contains(names(root, at), "__init__.py") {
				return "-m unittest discover"
			}
			return "-m unittest discover -s " + in
		}
	}
	return ""
}

// other is a project of a build system for which millhand knows no package manager.
type other struct {
	ecosystem.Found
	test string
}

// others returns those at the top of a repository.
func others(root *os.Root) []other {
	var all []other
	add := func(name, setup, test string) {
		all = append(all, other{ecosystem.Found{Ecosystem: ecosystem.Ecosystem{Name: name}, Dir: ".", Setup: setup}, test})
	}
	files := names(root, ".")
	has := func(patterns ...string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, file); return ok && err == nil })
		})
	}
	if has("CMakeLists.txt") {
		add("cmake", "", "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure")
	}
	if has("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj") {
		add("dotnet", "dotnet restore", "dotnet test --no-restore")
	}
	if has("mix.exs") {
		add("mix", "mix local.hex --force && mix deps.get", "mix test")
	}
	if has("deno.json", "deno.jsonc") {
		test := "deno test --cached-only"
		var config struct{ Tasks map[string]any }
		if json.Unmarshal([]byte(read(root, "deno.json")), &config) == nil && config.Tasks["test"] != nil {
			test = "deno task test"
		}
		add("deno", "deno install", test)
	}
	return all
}

// maxNames is the maximum number of files of a directory that are considered.
const maxNames = 2000

// names returns the names of files of a directory, none without it.
func names(root *os.Root, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	slices.Sort(all)
	return all
}
