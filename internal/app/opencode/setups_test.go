package opencode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

// Each archive is a directory as people have it. Its comment states variables that are set, keys of the task,
// texts of notes, and what the task's profile decides.
func TestSetups(t *testing.T) {
	files, err := filepath.Glob("testdata/setups/*.txtar")
	if err != nil || len(files) < 33 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			setup(t, file)
		})
	}
}

func setup(t *testing.T, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range archive.Files {
		files = append(files, f.Name, string(f.Data))
	}
	dir := write(t, files...)
	lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
	manifest, notes, err := Convert(dir, known)
	if err != nil {
		t.Fatal(err)
	}
	text, variables, decisions := string(manifest), map[string]string{"OPENAI_API_KEY": "x"}, 0
	for _, line := range lines {
		switch kind, rest, _ := strings.Cut(line, " "); kind {
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			variables[name] = value
		case "task":
			if strings.HasPrefix(rest, "command:") {
				text = strings.Replace(text, "    prompt: Describe what to do.", "    #", 1)
			}
			text = strings.Replace(text, "  - id: task\n", "  - id: task\n    "+rest+"\n", 1)
		}
	}
	path := filepath.Join(dir, "millhand.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := tasks.Options{Dir: dir, Getenv: func(name string) string { return variables[name] }}
	if !strings.Contains(text, "\nmodel:") {
		o.Overrides.Model = "openai/gpt-5-mini"
	}
	plan, err := expand.Load(t.Context(), []string{path}, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	notes = slices.Concat(notes, plan.Notes)
	decides := profileOf(plan)
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		name, subject, _ := strings.Cut(rest, " ")
		switch kind {
		case "env", "task":
		case "note":
			if !strings.Contains(strings.Join(notes, "\n"), rest) {
				t.Errorf("no note contains %q: %q", rest, notes)
			}
		case "allow", "deny":
			decisions++
			d := decides.Decide(permission.Request{Permission: name, Subjects: []string{subject}})
			if got := d.Effect == permission.Allow; got != (kind == "allow") {
				t.Errorf("%s: %+v\n%s", line, d, text)
			}
		default:
			t.Errorf("unknown line %q", line)
		}
	}
	if decisions < 2 {
		t.Errorf("%d decisions", decisions)
	}
}

// profileOf returns the profile of the only job, as its agent restricts it.
func profileOf(plan *tasks.Plan) permission.Profile {
	p := plan.Jobs[0].Profile
	at := slices.IndexFunc(plan.Agents, func(a tasks.Agent) bool { return a.Name == plan.Jobs[0].Agent })
	if at < 0 {
		return p
	}
	if most := plan.Agents[at].Max; most != nil {
		p = p.Under(*most)
	}
	for _, rules := range plan.Agents[at].Restrictions {
		p = p.Narrowed("agent", rules)
	}
	return p
}
