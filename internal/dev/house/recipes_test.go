package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/app/starter"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

// The recipes of docs/ci.md have the commands that millhand init writes for a repository with
// the files of that language.
func TestRecipesByLanguage(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "docs/ci.md"), "## By language")
	for language, files := range map[string]map[string]string{
		"Go":      {"go.mod": "module a\n"},
		"Node.js": {"package-lock.json": "{}", "package.json": `{"scripts": {"test": "node --test"}}`},
		"Python":  {"requirements.txt": "pytest==8\n"},
		"Java":    {"pom.xml": "<project/>"},
		"Rust":    {"Cargo.lock": "", "Cargo.toml": "[package]\n"},
		"Ruby":    {"Gemfile": "gem 'rspec'\n"},
		"PHP":     {"composer.json": `{"require-dev": {"phpunit/phpunit": "^12"}}`},
	} {
		_, section, found := strings.Cut(page, "\n### "+language+"\n")
		block := yamlBlock.FindStringSubmatch(section)
		if !found || block == nil {
			t.Errorf("docs/ci.md has no recipe for %s", language)
			continue
		}
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "millhand.yaml"), []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		project, err := starter.Look(root)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := expand.Load(t.Context(), []string{"millhand.yaml"}, tasks.Options{Dir: dir})
		if err != nil {
			t.Fatalf("%s: %v", language, err)
		}
		job := plan.Jobs[0]
		if want := core(project.Setup); want == "" || !strings.Contains(core(job.Setup), want) {
			t.Errorf("%s: setup %q, and millhand init writes %q", language, job.Setup, project.Setup)
		}
		if want := core(project.Tests); want == "" || !strings.Contains(job.Verify[0].Run, want) {
			t.Errorf("%s: verify %q, and millhand init writes %q", language, job.Verify[0].Run, project.Tests)
		}
	}
}

// core returns the first command without the Python that runs it: a recipe can use that of a
// virtual environment.
func core(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return strings.TrimPrefix(commands[0], "python3 -m ")
}

// Steps of workflows in the documents give the action only inputs that it has, and read only
// outputs that it has. .github/action/lint checks complete workflows.
func TestStepsOfTheDocuments(t *testing.T) {
	type step struct {
		Uses      string
		With, Env map[string]any
	}
	var metadata struct{ Inputs, Outputs map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &metadata); err != nil {
		t.Fatal(err)
	}
	component := componentInputs(t)
	output := regexp.MustCompile(`steps\.millhand\.outputs\.([\w-]+)`)
	n := 0
	for _, name := range documents(t) {
		for _, block := range regexp.MustCompile("(?s)```yml\n(.*?)```").FindAllStringSubmatch(read(t, name), -1) {
			var steps []step
			var workflow struct {
				Jobs map[string]struct {
					Permissions map[string]string
					Steps       []step
				}
				Include []struct{ Inputs map[string]any } // GitLab's
			}
			if strings.HasPrefix(block[1], "- ") {
				t.Errorf("%s: steps alone do not show where the work goes: write a complete workflow", name)
			}
			if err := yaml.Unmarshal([]byte(block[1]), &workflow); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, include := range workflow.Include {
				if mode := include.Inputs["publish"]; mode != "pr" && mode != "push" {
					t.Errorf("%s: the component of GitLab publishes %v: its work is lost with the runner", name, mode)
				}
				for input := range include.Inputs {
					if component[input] == nil {
						t.Errorf("%s: the component of GitLab has no input %s", name, input)
					}
				}
			}
			for id, job := range workflow.Jobs {
				steps = append(steps, job.Steps...)
				uploads := slices.ContainsFunc(job.Steps, func(s step) bool { return strings.HasPrefix(s.Uses, "actions/upload-artifact@") })
				for _, s := range job.Steps {
					mode := s.With["publish"]
					pushes := (mode == "push" || mode == "pr" && job.Permissions["pull-requests"] == "write") && job.Permissions["contents"] == "write" && s.Env["GITHUB_TOKEN"] != nil
					if strings.HasPrefix(s.Uses, "millhand/millhand@") && !pushes && (mode != "patch" || !uploads) {
						t.Errorf("%s: the work of the job %s is lost with its runner", name, id)
					}
				}
			}
			for _, s := range steps {
				if !strings.HasPrefix(s.Uses, "millhand/millhand@") {
					continue
				}
				n++
				for input := range s.With {
					if metadata.Inputs[input] == nil {
						t.Errorf("%s: the action has no input %s", name, input)
					}
				}
			}
			for _, m := range output.FindAllStringSubmatch(block[1], -1) {
				if metadata.Outputs[m[1]] == nil {
					t.Errorf("%s: the action has no output %s", name, m[1])
				}
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d steps with the action were found", n)
	}
}

// componentInputs returns the inputs of examples/gitlab/component.yml.
func componentInputs(t *testing.T) map[string]any {
	t.Helper()
	var header struct {
		Spec struct{ Inputs map[string]any }
	}
	if err := yaml.NewDecoder(strings.NewReader(read(t, "examples/gitlab/component.yml"))).Decode(&header); err != nil {
		t.Fatal(err)
	}
	return header.Spec.Inputs
}
