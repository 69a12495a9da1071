package expand

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestAPromptThatNamesWhatItsProfileMayNotEdit(t *testing.T) {
	const head = `version: 1
model: script:m.yaml
profiles:
  ci: {extends: edit, permission: {edit: {".github/workflows/*": allow}}}
  src: {extends: edit, permission: {edit: {"*": deny, "src/*": allow}}}
tasks:
`
	for _, tt := range []struct{ name, task, want string }{
		{"a preset's", `- {id: a, profile: edit, prompt: "Update ./.github/workflows/ci.yml."}`, `m.yaml:7: the prompt of task "a" names .github/workflows/ci.yml, which its profile may not edit: rule edit: {".github/**": deny} (preset edit); if the task should change it, allow it in a profile that extends the preset: edit: {".github/workflows/ci.yml": allow}`},
		{"a name without a directory", "- {id: a, profile: build, prompt: 'Fix the `Jenkinsfile`!'}", `names Jenkinsfile, which`},
		{"by a variable", `- {id: a, profile: edit, matrix: {f: [x, docs/CODEOWNERS]}, prompt: "Sort ${{ matrix.f }}"}`, `names docs/CODEOWNERS, which`},
		{"allowed", `- {id: a, profile: ci, prompt: "Update .github/workflows/ci.yml"}`, ""},
		{"nothing may be edited", `- {id: a, profile: readonly, prompt: "Review .github/workflows/ci.yml"}`, ""},
		{"outside of what may be", `- {id: a, profile: src, prompt: "Fix tests and/or docs/a.md and src/x.go"}`, `names docs/a.md, which its profile may not edit: rule edit: {"*": deny} (m.yaml:5)`},
		{"protected", `- {id: a, profile: edit, commit: {protect: ["*.lock"]}, prompt: "Write go.lock"}`, `names go.lock, which its profile may not edit: rule edit: {"*.lock": deny} (m.yaml:7, which limits profile edit)`},
		{"a limit of the change", `- {id: a, profile: edit, change: {paths: ["src/**", ".github/**"]}, prompt: Go.}`, `m.yaml:7: change.paths of task "a" has ".github/**", which its profile may not edit: rule edit: {".github/**": deny} (preset edit)`},
		{"a file in all directories", `- {id: a, profile: build, change: {paths: ["**/AGENTS.md"]}, prompt: Go.}`, `has "**/AGENTS.md", which`},
		{"a limit outside of what may be edited", `- {id: a, profile: src, change: {paths: ["src/*", "docs/*"]}, prompt: Go.}`, `has "docs/*", which its profile may not edit: rule edit: {"*": deny} (m.yaml:5)`},
		{"partly", `- {id: a, profile: edit, change: {paths: ["**", "*.yml", "{.github,x}/*", .], max_files: 1}, prompt: Go.}`, ""},
		{"allowed by a rule", `- {id: a, profile: ci, change: {paths: [".github/workflows/*"]}, prompt: Go.}`, ""},
	} {
		plan, err := loadText(t, head+"  "+tt.task+"\n", nil, tasks.Overrides{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := strings.Join(plan.Notes, "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
