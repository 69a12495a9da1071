package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// FuzzTemplate compares the templates with a plain reading of their rule.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"a", "${{ vars.x }}", "$${{ vars.x }}", "${{vars.x}}${{ task.id }}", "${{", "}}", "$$${{ vars.x }}", "${{ vars.x }", "${{ a\n}}", "${${{ vars.x }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found := problem.NewCollector()
		src := &form.Source{File: problem.File{Name: "m.yaml", Found: found, Lines: strings.Split(s, "\n")}}
		tpl := ParseTemplate(literal(src, s))
		got, ok := tpl.Render(Scope{Vars: map[string]string{"x": "${{ vars.x }}"}, Task: "a", Getenv: func(string) string { return "" }})
		if ok && len(found.List) == 0 {
			want := plainRender(s, map[string]string{"vars.x": "${{ vars.x }}", "task.id": "a", "repo.name": ""})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		}
		if !strings.Contains(s, form.Opening) && (got != s || len(found.List) > 0) {
			t.Errorf("a text without variables became %q, %v", got, found.List)
		}
	})
}

// plainRender fills in a valid template the slow way, from its end: what is
// before the last opening cannot depend on what follows it.
func plainRender(s string, variables map[string]string) string {
	i := strings.LastIndex(s, form.Opening)
	if i < 0 {
		return s
	}
	rest := s[i+len(form.Opening):]
	if before, escaped := strings.CutSuffix(s[:i], "$"); escaped {
		return plainRender(before, variables) + form.Opening + rest
	}
	name, rest, _ := strings.Cut(rest, "}}")
	return plainRender(s[:i], variables) + variables[strings.TrimSpace(name)] + rest
}

// literal is a text that fills a file.
func literal(src *form.Source, s string) form.Text {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: 1, Column: 1}
	return form.Text{Value: form.Value{Origin: form.Origin{Src: src, Use: n, Label: "the text"}, Node: n}, S: s}
}
