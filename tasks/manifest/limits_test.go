package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
)

// repeated is a list of so many texts, which have their numbers.
func repeated(n int, text string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(text, i)
	}
	return strings.Join(all, ", ")
}

func TestSizesOfWhatManifestsHave(t *testing.T) {
	t.Parallel()
	files := func(n int, name, text string) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf(name, i)] = text
		}
		return all
	}
	headers := func(n int) string { return "{" + repeated(n, "X-%d: a") + "}" }
	provider := func(keys string) string { return "providers: {x: {kind: openai, base_url: 'https://h', " + keys + "}}" }
	agent := func(rules int) map[string]string {
		return map[string]string{"a.md": "---\npermission: {bash: {" + repeated(rules, "a%d: deny") + "}}\n---\n"}
	}
	large := strings.Repeat("x", form.MaxFile)
	for _, c := range []struct {
		name, keys string
		files      map[string]string
		problem    string // "" if it is allowed
	}{
		{"commands", "commands_from: [c]", files(form.MaxDefined, "c/%d.md", "Go."), ""},
		{"more commands", "commands_from: [c]", files(form.MaxDefined+1, "c/%d.md", "Go."), `-:4:17: directory "c": more than 100 commands; check its path; it is relative to the manifest`},
		{"instructions", "instructions: ['i/*.md']", files(form.MaxCommands, "i/%d.md", "x"), ""},
		{"more instructions", "instructions: ['i/*.md']", files(form.MaxCommands+1, "i/%d.md", "x"), fmt.Sprintf(`-:4:16: "i/*.md" matches more than %d files; name the files that every session needs`, form.MaxCommands)},
		{"long instructions", "instructions: ['i*.md', i0.md]", files(4, "i%d.md", large), ""},
		{"longer instructions", "instructions: ['i*.md']", files(5, "i%d.md", large), `-:1:1: the instructions exceed 4 MiB; every request carries them: shorten them`},
		{"headers", provider("headers: " + headers(maxHeaders)), nil, ""},
		{"more headers", provider("headers: " + headers(maxHeaders+1)), nil, `-:4:63: "headers" has more than 50 entries; make it shorter`},
		{"variables", "mcp: {x: {command: [a], environment: {" + repeated(maxHeaders, "A%d: a") + "}}}", nil, ""},
		{"more variables", "mcp: {x: {command: [a], environment: {" + repeated(maxHeaders+1, "A%d: a") + "}}}", nil, `-:4:38: "environment" has more than 50 entries; make it shorter`},
		{"options of a server", "lsp: {gopls: {initialization: {a: '" + strings.Repeat("x", form.MaxSchema-8) + "'}}}", nil, ""},
		{"more options of a server", "lsp: {gopls: {initialization: {a: '" + strings.Repeat("x", form.MaxSchema) + "'}}}", nil, `-:4:31: initialization exceeds 64 KiB; make it smaller`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, problems, _ := beside(t, oneTask+c.keys+"\n", c.files)
			if got := strings.Join(problems, "\n"); got != c.problem {
				t.Errorf("%s, want %s", got, c.problem)
			}
			read := len(m.Commands) + len(m.Instructions)
			for _, d := range m.Providers {
				read += len(d.Is.HeaderTexts)
			}
			for _, d := range m.Servers {
				read += len(d.Is.Written.Environment)
			}
			for _, d := range m.LanguageServers {
				read += len(d.Is.initialization) - 1 // a known one has an option
			}
			if tooLong := strings.HasPrefix(c.name, "longer"); (read > 0) != (c.problem == "" || tooLong) && c.name != "options of a server" {
				t.Errorf("%d values are read", read)
			}
		})
	}
	for rules, want := range map[int]string{profiles.MaxEntries: "", profiles.MaxEntries + 1: "a.md:1:1: the agent has more than 2000 rules; use wildcards"} {
		m, problems, _ := beside(t, oneTask+"agents_from: [a.md]\n", agent(rules))
		var got []string
		for _, p := range m.Agents[0].Flaws.Faults {
			got = append(got, p.String())
		}
		if strings.Join(got, "\n") != want || problems != nil {
			t.Errorf("%d rules: %q, %q", rules, got, problems)
		}
	}
}
