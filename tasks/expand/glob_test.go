package expand

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// hostileGlobs are patterns of which the braces expand to more patterns than fit in memory, or to
// few with an endless expansion.
func hostileGlobs() map[string]string {
	return map[string]string{
		"in a row":       strings.Repeat("{a,b}", 40),
		"empty":          "a" + strings.Repeat("{,}", 40) + "x",
		"with wildcards": strings.Repeat("*{a,b}", 40),
		"nested":         strings.Repeat("{a,", 19) + strings.Repeat("b}", 19) + strings.Repeat("{c,d}", 12),
		"directories":    strings.Repeat("{**,*}/", 20) + "x",
		"of nothing":     strings.Repeat("a", 30_000) + strings.Repeat("{}", 30_000),
		"long":           strings.Repeat("a", 100_000) + "*",
	}
}

func TestHostileBracesAreRefusedWhereverAManifestHasAPattern(t *testing.T) {
	for key, form := range map[string]string{
		"instructions":  "instructions: [%q]\n" + oneTask,
		"an @":          "instructions: [%q]\n" + oneTask,
		"repos.glob":    "repos: [{glob: %q}]\n" + oneTask,
		"repos.include": "repos: [{glob: x, include: [%q]}]\n" + oneTask,
		"repos.exclude": "repos: [{file: x, exclude: [%q]}]\n" + oneTask,
		"github":        "repos: [{github: {org: a, exclude: [%q]}}]\n" + oneTask,
		"protect":       head + "tasks: [{id: a, prompt: p, commit: {protect: [%q]}}]\n",
		"change.paths":  head + "tasks: [{id: a, prompt: p, change: {paths: [%q]}}]\n",
		"a variable":    head + "vars: {x: %q}\ntasks: [{id: a, prompt: p, change: {paths: ['${{ vars.x }}']}}]\n",
	} {
		for name, glob := range hostileGlobs() {
			if key == "an @" {
				glob = "@" + glob
			}
			_, err := loadText(t, fmt.Sprintf(form, glob), nil, tasks.Overrides{})
			all := strings.Join(lines(t, err), "\n")
			if !strings.Contains(all, "braces expand to too many patterns (more than 1000) or too long ones; write several patterns") || !strings.HasPrefix(all, "m.yaml:") {
				t.Errorf("%s: braces %s: %s", key, name, all)
			}
		}
	}
}

func TestHostileBracesAreRefusedInAPolicy(t *testing.T) {
	for name, glob := range hostileGlobs() {
		dir := dirWith(t, map[string]string{"p.yaml": fmt.Sprintf("version: 1\nprotect: [%q]\n", glob), "d.yaml": fmt.Sprintf("version: 1\npaths: {allow: [%q]}\n", glob)})
		_, err := manifest.LoadPolicy(t.Context(), "p.yaml", options(dir))
		if all := strings.Join(lines(t, err), "\n"); !strings.Contains(all, "p.yaml:2:11: invalid glob") || !strings.Contains(all, "braces expand to too many") {
			t.Errorf("protect: braces %s: %s", name, all)
		}
		if _, err := manifest.LoadPolicy(t.Context(), "d.yaml", options(dir)); err == nil {
			t.Errorf("paths: braces %s are a directory", name)
		}
	}
}

func TestInstructionsWithBracesAreFound(t *testing.T) {
	files := map[string]string{"a.md": "A", "docs/b.md": "B", "docs/x/c.md": "C", "docs/d.txt": "D", ".github/e.md": "E"}
	for pattern, want := range map[string][]string{
		"{a,docs/b}.md":              {"a.md", "docs/b.md"},
		"docs/**/{b,c,d}.{md,txt}":   {"docs/b.md", "docs/d.txt", "docs/x/c.md"},
		"./docs/*":                   {"docs/b.md", "docs/d.txt"},
		"{.github,docs/{x,y}}/*.md":  {".github/e.md", "docs/x/c.md"},
		"docs/{x/../,}[b]*.md":       {"docs/b.md"},
		"{*,docs/*,docs/{,x/}}*.md*": {"a.md", "docs/b.md", "docs/x/c.md"},
	} {
		p, err := loadText(t, fmt.Sprintf("instructions: [%q]\n", pattern)+oneTask, files, tasks.Overrides{})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var got []string
		for _, i := range p.Jobs[0].Instructions {
			got = append(got, i.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", pattern, diff)
		}
	}
}

// Whatever one alternative hides, another one may lead outside.
func TestAnAlternativeLeadsNotOutsideOfAnUntrustedManifest(t *testing.T) {
	for _, pattern := range []string{"{docs,/etc}/*", "{docs,../..}/*", "docs/{x,../../..}/*", "{docs,*}/../../*", "d*/../../*", "{a,{b,/}}*/*", "**/../../*"} {
		for key, form := range map[string]string{"instructions": "instructions: [%q]\n", "repos": "repos: [{glob: %q}]\n"} {
			dir := dirWith(t, map[string]string{"m.yaml": fmt.Sprintf(form, pattern) + oneTask, ".git/": "", "docs/a.md": "A"})
			o := options(dir)
			o.Policies = policy.Set{policy.ForUntrusted(nil)}
			_, err := Load(t.Context(), []string{"m.yaml"}, o)
			all := strings.Join(lines(t, err), "\n")
			if !strings.Contains(all, "not allowed by") && !strings.Contains(all, "write no / in them") {
				t.Errorf("%s %s: %s", key, pattern, all)
			}
		}
	}
}

// Names in prompts and in change.paths are compared with the rules of profiles only for notes.
func TestNotesAboutProfilesEnd(t *testing.T) {
	var rules, globs []string
	for i := range 1900 {
		rules = append(rules, fmt.Sprintf("'*a%d*': deny", i))
	}
	for i := range 1000 {
		globs = append(globs, fmt.Sprintf("a/%d/*", i))
	}
	manifest := fmt.Sprintf("%sprofile: p\nprofiles: {p: {extends: build, permission: {edit: {%s}}}}\ntasks: [{id: a, prompt: %q}, {id: b, prompt: x, matrix: {k: [%s0]}, change: {paths: [%s]}}]\n",
		head, strings.Join(rules, ", "), strings.Repeat("a.b/c ", nightly.Count(5000, 20_000, 20_000)), numbers(2000), strings.Join(globs, ", "))
	if _, err := loadText(t, manifest, nil, tasks.Overrides{}); err != nil {
		t.Error(err)
	}
}

// numbers returns numbers from n on, with commas behind them.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d, ", n-i)
	}
	return b.String()
}
