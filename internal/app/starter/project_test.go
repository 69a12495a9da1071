package starter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

func look(t *testing.T, files map[string]string) Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p, err := Look(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProjects(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  Project
	}{
		"Go":                     {map[string]string{"go.mod": "module a\n", ".gitlab-ci.yml": ""}, Project{[]string{"go"}, []string{"go mod download"}, []string{"go test ./..."}, []string{"GitLab CI"}}},
		"npm":                    {map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`, "package-lock.json": "{}", ".github/workflows/ci.yml": ""}, Project{[]string{"npm"}, []string{"npm ci"}, []string{"npm test"}, []string{"GitHub Actions"}}},
		"npm without tests":      {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`, "Makefile": "all:\n"}, Project{[]string{"npm"}, []string{"npm install"}, nil, nil}},
		"tests in the Makefile":  {map[string]string{"package.json": `{`, "Makefile": "test: all\n\ttrue\n"}, Project{[]string{"npm"}, []string{"npm install"}, []string{"make test"}, nil}},
		"pytest":                 {map[string]string{"requirements.txt": "pytest==8\n"}, Project{[]string{"pip"}, []string{"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"}, []string{".venv/bin/python -m pytest"}, nil}},
		"pytest for development": {map[string]string{"requirements.txt": "x\n", "requirements-dev.txt": "pytest\n"}, Project{[]string{"pip"}, []string{"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -r requirements-dev.txt"}, []string{".venv/bin/python -m pytest"}, nil}},
		"an extra":               {map[string]string{"pyproject.toml": "[project]\nname = 'a'\n[project.optional-dependencies]\ndocs = ['x']\ntest = ['pytest>8']\n"}, Project{[]string{"pip"}, []string{"python3 -m venv .venv && .venv/bin/pip install -e '.[test]'"}, []string{".venv/bin/python -m pytest"}, nil}},
		"configured pytest":      {map[string]string{"pyproject.toml": "[project]\nname = 'a'\n[tool.pytest.ini_options]\n"}, Project{[]string{"pip"}, []string{"python3 -m venv .venv && .venv/bin/pip install -e . pytest"}, []string{".venv/bin/python -m pytest"}, nil}},
		"pip and unittest":       {map[string]string{"requirements.txt": "x\n", "tests/test_a.py": "import unittest\n"}, Project{[]string{"pip"}, []string{"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"}, []string{".venv/bin/python -m unittest discover -s tests"}, nil}},
		"unittest alone":         {map[string]string{"tests/__init__.py": "", "tests/test_a.py": "from unittest import TestCase\n"}, Project{[]string{"python"}, nil, []string{"python3 -m unittest discover"}, nil}},
		"uv":                     {map[string]string{"pyproject.toml": "[dependency-groups]\ndev = [\"pytest\"]\n", "uv.lock": ""}, Project{[]string{"uv"}, []string{"uv sync --locked"}, []string{"uv run --offline pytest"}, nil}},
		"uv without a lock file": {map[string]string{"pyproject.toml": "[tool.uv]\n", "test_a.py": "import unittest\n"}, Project{[]string{"uv"}, []string{"uv sync"}, []string{"uv run --offline python -m unittest discover"}, nil}},
		"poetry":                 {map[string]string{"pyproject.toml": "[tool.poetry]\n[tool.poetry.group.dev.dependencies]\npytest = '^8'\n"}, Project{[]string{"poetry"}, []string{"poetry install"}, []string{"poetry run pytest"}, nil}},
		"composer":               {map[string]string{"composer.json": `{"scripts": {"test": "x"}}`}, Project{[]string{"composer"}, []string{"composer install --no-interaction"}, []string{"composer test"}, nil}},
		"CMake":                  {map[string]string{"CMakeLists.txt": ""}, Project{[]string{"cmake"}, nil, []string{"cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"}, nil}},
		"dotnet":                 {map[string]string{"a.csproj": ""}, Project{[]string{"dotnet"}, []string{"dotnet restore"}, []string{"dotnet test --no-restore"}, nil}},
		"mix":                    {map[string]string{"mix.exs": ""}, Project{[]string{"mix"}, []string{"mix local.hex --force && mix deps.get"}, []string{"mix test"}, nil}},
		"deno":                   {map[string]string{"deno.json": "{}"}, Project{[]string{"deno"}, []string{"deno install"}, []string{"deno test --cached-only"}, nil}},
		"two in directories":     {map[string]string{"web/package.json": `{"scripts": {"test": "x"}}`, "web/yarn.lock": "", "api/Cargo.toml": "[package]"}, Project{[]string{"cargo", "yarn"}, []string{"cd api && cargo fetch", "cd web && yarn install --frozen-lockfile"}, []string{"cd api && cargo test --offline", "cd web && yarn test"}, nil}},
		"a hostile directory":    {map[string]string{"a;touch pwned/go.mod": ""}, Project{}},
		"nothing":                {map[string]string{"notes.txt": ""}, Project{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, look(t, tt.files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := tt.want.Summary(); strings.Contains(got, "found no") != (len(tt.want.Ecosystems)+len(tt.want.Tests) == 0) || len(tt.want.Tests) > 0 && !strings.Contains(got, tt.want.Tests[0]) {
				t.Errorf("summary %q", got)
			}
		})
	}
}

func TestManifestsAreValid(t *testing.T) {
	for _, p := range []Project{{}, {Tests: []string{"go test ./..."}}, {Setup: []string{`npm ci "x"`}, Tests: []string{"npm test", "a: b # c"}}} {
		dir := t.TempDir()
		text := p.Manifest("openai/gpt-5-mini", "")
		if err := os.WriteFile(filepath.Join(dir, "millhand.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		plan, err := expand.Load(t.Context(), []string{"millhand.yaml"}, tasks.Options{Dir: dir})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var verify []string
		for _, v := range plan.Jobs[0].Verify {
			verify = append(verify, v.Run)
		}
		if diff := cmp.Diff([][]string{p.Setup, p.Tests}, [][]string{plan.Jobs[0].Setup, verify}); diff != "" {
			t.Errorf("setup and verify (-want +got):\n%s", diff)
		}
	}
}

func TestFilesOfCIs(t *testing.T) {
	for ci, want := range map[CI]string{GitHub: ".github/workflows/millhand-nightly.yml", GitLab: ".gitlab-ci.yml", Cron: "run.sh"} {
		files, err := ci.Files()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Path)
			if len(f.Data) == 0 {
				t.Errorf("%s is empty", f.Path)
			}
		}
		if !strings.Contains(strings.Join(names, "\n"), want) || ci.Next() == "" {
			t.Errorf("%s: %q has no %s", ci, names, want)
		}
	}
}
