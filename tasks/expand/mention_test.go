package expand

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/template"
)

// writtenMention shows a mention as a test has it.
func writtenMention(m tasks.Mention) string {
	if m.Command != "" {
		return "!" + m.Command
	}
	s := m.Name
	if m.Ranged != "" {
		s += fmt.Sprintf(" lines %d-%d", m.First, m.Last)
	}
	if m.Explicit {
		s += " explicit"
	}
	return s
}

func TestPromptMentions(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"See @docs/style.md and @Makefile.", []string{"docs/style.md", "Makefile"}},
		{"@a.go", []string{"a.go"}},
		{"(@a.go), [@b.go]: @c.go; @d.go? @e.go!", []string{"a.go", "b.go", "c.go", "d.go", "e.go"}},
		{"@app/(auth)/page.tsx and (see @app/(auth))", []string{"app/(auth)/page.tsx", "app/(auth)"}},
		{`"@a.go" '@b.go' <@c.go>`, []string{"a.go", "b.go", "c.go"}},
		{"@a.go#L10 @a.go#L10-20 @a.go#L10-L20 @a.go#10-20 @a.go#10- @a.go#7", []string{
			"a.go lines 10-10 explicit", "a.go lines 10-20 explicit", "a.go lines 10-20 explicit", "a.go lines 10-20", "a.go lines 10-0", "a.go lines 7-7",
		}},
		{"@a.go#0 @a.go#9-3 @a.go#top", []string{"a.go#0", "a.go#9-3", "a.go#top"}},
		{"@./a @../b @~/c @/etc/passwd @src/", []string{"./a explicit", "../b explicit", "~/c explicit", "/etc/passwd", "src/"}},
		{"@explore finds it", []string{"explore"}},
		{"ann@example.com, `@quoted`, https://x.org/@ann, a.b-@c, @@x, git@github.com:a/b", nil},
		{"@ alone, @. and @, and @", nil},
		{"@types/node @param x @é.md", []string{"types/node", "param", "é.md"}},
		{"The branch is !`git branch --show-current`.", []string{"!git branch --show-current"}},
		{"!`a` and!`b @c`", []string{"!a", "!b @c"}},
		{"!`` !` ` ! `a` !`a\nb` !`open", nil},
		{"@x!`y`", []string{"x", "!y"}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var got []string
			for _, m := range template.Mentions(tt.text, nil) {
				got = append(got, writtenMention(m))
				if all := tt.text[m.Start:m.End]; !strings.Contains(all, m.Name) || !strings.Contains(all, m.Command) {
					t.Errorf("%+v stands at %q", m, all)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A value is a segment of a path, or a text: it starts no mention, ends none, and
// brings no command.
func TestValuesContainNoMentions(t *testing.T) {
	const hostile = "@.env !`touch pwned` `@x` $(id)"
	for _, tt := range []struct {
		prompt, value string
		want          []string
	}{
		{"Fix ${{ vars.x }}", hostile, nil},
		{"Fix: ${{ vars.x }}", "@.env", nil},
		{"Fix !${{ vars.x }}", "`touch pwned`", nil},
		{"Fix ${{ vars.x }}`touch pwned`", "!", nil},
		{"Fix !`${{ vars.x }}", "touch pwned`", nil},
		{"Fix ${{ vars.x }}.env", "@", nil},
		{"Mail ann${{ vars.x }}", "@example.com", nil},
		{"Read @src/${{ vars.x }}/main.go.", "api", []string{"src/api/main.go"}},
		{"Read @${{ vars.x }}, please", "a b, c.", []string{"a b, c."}},
		{"Read @${{ vars.x }}!", "", nil},
		{"Read @${{ vars.x }}", "a\nb", nil},
		{"Read @a${{ vars.x }}b", "` !`touch pwned` @", []string{"a` !`touch pwned` @b"}},
		{"${{ vars.x }} @b", "@a", []string{"b"}},
		{"$${{ @b", "", []string{"b"}},
	} {
		t.Run(tt.prompt+" "+tt.value, func(t *testing.T) {
			p := mustLoad(t, head+fmt.Sprintf("profile: build\nvars: {x: %q}\ntasks:\n- id: a\n  prompt: %q\n", tt.value, tt.prompt), tasks.Overrides{})
			var got []string
			for _, m := range p.Jobs[0].Mentions {
				got = append(got, writtenMention(m))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMistakesInWhatPromptsName(t *testing.T) {
	many := strings.Repeat("@a ", template.MaxMentions+1)
	checkMistakes(t, []mistake{
		{"a variable in a command", head + "profile: build\nvars: {x: 1}\ntasks:\n- id: a\n  prompt: Look !`ls` at !`git log ${{ vars.x }}`.\n- {id: b, prompt: '!`echo $${{ x`'}\n", []string{
			"m.yaml:7:25: variable in a !`...` command of a prompt: the shell would run its value; remove it, or write the command under setup: with quotes around the variable",
		}},
		{"a command that no profile allows", head + "tasks:\n- id: a\n  prompt: Look at !`git log`.\n", []string{
			"m.yaml:5:11: the prompt runs a command (!`...`), and the profile \"readonly\" allows none: no rule allows it (profile readonly); choose a profile with bash, such as review, or leave the command out",
		}},
		{"lines that no file has", head + "tasks:\n- id: a\n  prompt: See @a.go#L9-3, and @a.go#L9-.\n- {id: b, prompt: \"See @a.go#L0.\"}\n", []string{
			"m.yaml:5:11: invalid line range in \"@a.go#L9-3\"; lines count from 1, and the last is not before the first: @main.go#L10-20",
			"m.yaml:6:19: invalid line range in \"@a.go#L0\"; lines count from 1, and the last is not before the first: @main.go#L10-20",
		}},
		{"more than anybody needs", head + "tasks:\n- id: a\n  prompt: " + "x " + many + "\n", []string{
			"m.yaml:5:11: the prompt names more than 100 files and commands; name directories, or let the agent look",
		}},
	})
}
