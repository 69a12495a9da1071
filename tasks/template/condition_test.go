package template

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// conditioned is what a condition is for one job.
type conditioned struct {
	skip string
	rest *tasks.Condition
}

// conditional reads the if of a task, written as YAML has it, and decides it for a job of the task. It is in line 9
// of its file, m.yaml.
func conditional(t *testing.T, condition string, vars map[string]string) (conditioned, []string) {
	t.Helper()
	known := map[string]string{"on": "yes", "off": "false", "none": "", "v": "5.10", "it": "it's"}
	maps.Copy(known, vars)
	found := problem.NewCollector()
	src := &form.Source{File: problem.File{Name: "m.yaml", Found: found}}
	var got conditioned
	if v, ok := src.Parse([]byte(strings.Repeat("\n", 8) + "    if: " + condition + "\n")); ok {
		entries, _ := v.Entries()
		if c, ok := ConditionForm.Read(entries[0]); ok {
			c.CheckNames(known, []string{"note", "os"})
			got.skip, got.rest = c.Decide(Scope{
				Vars: known, Matrix: map[string]string{"os": "linux", "note": "slow"}, Task: "care", Repo: tasks.Repo{Name: "api", Ref: "v1.0"},
				Getenv: func(name string) string { return map[string]string{"BUILD": "17"}[name] },
			})
		}
	}
	if err := found.Err(); err != nil {
		return got, strings.Split(err.Error(), "\n")
	}
	return got, nil
}

func TestConditionsAreReduced(t *testing.T) {
	const (
		holds = "holds"
		not   = "does not hold"
	)
	for _, tt := range []struct{ condition, want string }{
		{`true`, holds},
		{`false`, not},
		{`${{ true }}`, holds},
		{`"${{ 'a' == 'b' }}"`, not},
		{`vars.on`, holds},
		{`vars.off`, not},
		{`vars.none`, not},
		{`env.BUILD == 17`, holds},
		{`env.NOT_SET == ''`, holds},
		{`vars.v == 5.10`, holds},
		{`vars.v == 5.1`, not},
		{`vars.on == "yes" && matrix.os != 'windows'`, holds},
		{`vars.on == 'YES'`, not},
		{`matrix.note == 'slow'`, holds},
		{`repo.name == 'api' && repo.ref == 'v1.0' && task.id == 'care'`, holds},
		{`contains(repo.name, 'p') && startsWith(repo.ref, 'v') && endsWith(matrix.os, "ux")`, holds},
		{`matches(repo.ref, '^v[0-9]+\.0$') && (!matches(repo.name, 'API'))`, holds},
		{`matches(repo.name, '(?i)API')`, holds},
		{`vars.it == 'it''s' && vars.it == "it's"`, holds},
		{`1 == 1 || 1 == 2 && 1 == 2`, holds},
		{`(1 == 1 || 1 == 2) && 1 == 2`, not},
		{`vars.on || !vars.on == vars.on`, holds},
		{`(1 == 1) == true`, holds},
		{`(1 == 2) == false && (1 != 1) != true`, holds},
		{`"!(vars.off)"`, holds},
		{`'!!vars.off'`, not},
		{`repo.has('go.mod')`, `repo.has("go.mod")`},
		{`repo.has('./web//app/')`, `repo.has("web/app")`},
		{`repo.has(matrix.os)`, `repo.has("linux")`},
		{`vars.on == 'no' && repo.has('go.mod')`, not},
		{`repo.has('go.mod') && vars.on == 'no'`, not},
		{`vars.on == 'yes' || repo.has('go.mod')`, holds},
		{`repo.has('go.mod') || vars.on`, holds},
		{`vars.on && repo.has('a') && vars.off == 'false' && !repo.has('b')`, `&&(repo.has("a"), !(repo.has("b")))`},
		{`vars.off || (repo.has('a') == vars.on)`, `||(==(repo.has("a"), "yes"))`},
		{`>-
      vars.on ==
      'yes' &&
      repo.has('a')`, `&&(repo.has("a"))`},
	} {
		t.Run(tt.condition, func(t *testing.T) {
			c, problems := conditional(t, tt.condition, nil)
			if problems != nil {
				t.Fatal(problems)
			}
			got := holds
			switch {
			case c.skip != "":
				got = not
			case c.rest != nil:
				got = c.rest.Left()
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestASkippedJobHasAReason(t *testing.T) {
	c, problems := conditional(t, "${{ vars.on   ==\n      'no' }}", nil)
	if want := "its condition does not hold: vars.on == 'no'"; problems != nil || c.skip != want {
		t.Errorf("%q, want %q, %q", c.skip, want, problems)
	}
	if c, problems = conditional(t, "vars.on == 'no'", map[string]string{"on": "no"}); problems != nil || c.skip != "" {
		t.Errorf("the other value of a variable was not seen: %q, %q", c.skip, problems)
	}
}

func TestConditionReadsRepositoryLazily(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		condition string
		files     string // that the repository has; "!" is an error
		want      bool
		asked     string
		err       error
	}{
		{`repo.has('a') && repo.has('b')`, "a b", true, "a b", nil},
		{`repo.has('a') && repo.has('b')`, "b", false, "a", nil},
		{`repo.has('a') || repo.has('b')`, "a", true, "a", nil},
		{`repo.has('a') || repo.has('b')`, "", false, "a b", nil},
		{`!repo.has('a') == repo.has('b')`, "b", true, "a b", nil},
		{`repo.has('a') != repo.has('b')`, "a b", false, "a b", nil},
		{`contains(repo.has('a'), 'als')`, "", true, "a", nil},
		{`vars.on && (repo.has('a') || !repo.has('b')) && repo.has('c')`, "b c", false, "a b", nil},
		{`repo.has('!') || repo.has('b')`, "b", false, "!", broken},
	} {
		t.Run(tt.condition+" with "+tt.files, func(t *testing.T) {
			c, problems := conditional(t, `"`+strings.ReplaceAll(tt.condition, `"`, `\"`)+`"`, nil)
			if problems != nil {
				t.Fatal(problems)
			}
			var asked []string
			got, err := c.rest.Holds(func(path string) (bool, error) {
				asked = append(asked, path)
				if path == "!" {
					return false, broken
				}
				return strings.Contains(tt.files, path), nil
			})
			if got != tt.want || !errors.Is(err, tt.err) || strings.Join(asked, " ") != tt.asked {
				t.Errorf("%v, %v after asking for %q, want %v, %v after %q", got, err, asked, tt.want, tt.err, tt.asked)
			}
			if s := c.rest.String(); s != tt.condition {
				t.Errorf("written as %q", s)
			}
		})
	}
}

func TestConditionsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		condition string
		want      []string
	}{
		{"nothing", `"  "`, []string{`9:10: "if" is empty; write a condition, or leave it out`}},
		{"nothing between braces", `${{ }}`, []string{`9:9: "if" is empty; write a condition, or leave it out`}},
		{"a list", `[a]`, []string{`9:9: "if" must be a string, number or boolean, not a list; write one value`}},
		{"braces that stay open", `${{ vars.on`, []string{`9:9: the ${{ is not closed by }}; write ${{ CONDITION }}, or the condition alone`}},
		{"braces around an operand", `vars.on && ${{ vars.on }}`, []string{`9:20: unexpected "$"; write one ${{ }} around the entire condition`}},
		{"braces twice", `${{ vars.on }} && ${{ vars.on }}`, []string{`9:21: unexpected "}"; write one ${{ }} around the entire condition`}},
		{"names", `vars.onn && matrix.oss == env.ANY && repo.nam && foo.bar`, []string{
			`9:9: unknown variable "vars.onn"; did you mean "vars.on"?`,
			`9:21: unknown variable "matrix.oss"; did you mean "matrix.os"?`,
			`9:46: unknown variable "repo.nam"; did you mean "repo.name"?`,
			`9:58: unknown variable "foo.bar"; known variables: repo.name, repo.ref, task.id, run.id, run.date, vars.it, vars.none, vars.off, vars.on, vars.v, matrix.note, matrix.os`,
		}},
		{"names that are never reached", `false && vars.onn`, []string{`9:18: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"a word", `vars.on == yes`, []string{`9:20: "yes" is not a variable; put a text in quotes, or write vars.NAME, matrix.KEY, env.NAME, repo.name, repo.ref, task.id, run.id, run.date or event.PATH`}},
		{"a function", `startswith(vars.on, 'y')`, []string{`9:9: unknown function "startswith"; did you mean "startsWith"?`}},
		{"a function of others", `hashFiles('x')`, []string{`9:9: unknown function "hashFiles"; functions: contains, endsWith, matches, repo.has, startsWith`}},
		{"a function that is not called", `contains == 'x'`, []string{`9:9: contains is a function; write for example contains(repo.name, 'api')`}},
		{"arguments", `vars.on && contains(vars.on)`, []string{`9:20: contains: expected 2 arguments, got 1; write for example contains(repo.name, 'api')`}},
		{"no arguments", `repo.has()`, []string{`9:9: repo.has: expected 1 arguments, got 0; write for example repo.has('package.json')`}},
		{"a regular expression", `matches(vars.on, '(')`, []string{`9:26: invalid regular expression: missing closing ): "("; use RE2 syntax`}},
		{"a regular expression of a variable", `matches(vars.on, vars.off)`, []string{`9:26: expected a quoted regular expression; write for example matches(repo.name, '^api-')`}},
		{"a path outside", `repo.has('../x')`, []string{`9:18: "../x" is not a path inside the repository; write it from the repository's top, such as 'web/package.json'`}},
		{"an absolute path", `repo.has('/x')`, []string{`9:18: "/x" is not a path inside the repository; write it from the repository's top, such as 'web/package.json'`}},
		{"a variable that is no path", `vars.on && repo.has(vars.none)`, []string{`9:29: "" is not a path inside the repository; write it from the repository's top, such as 'web/package.json'`}},
		{"a path of the repository", `repo.has(repo.has('x'))`, []string{`9:18: the path must not depend on the repository's content; write repo.has('package.json')`}},
		{"an end", `vars.on ==`, []string{`9:19: the condition ends too early; write for example vars.NAME == 'TEXT' or repo.has('FILE')`}},
		{"an end between braces", `${{ vars.on == }}`, []string{`9:24: the condition ends too early; write for example vars.NAME == 'TEXT' or repo.has('FILE')`}},
		{"a parenthesis", `(vars.on`, []string{`9:17: the condition ends too early; write ")" here, or an operator`}},
		{"one too many", `(vars.on))`, []string{`9:18: unexpected ")"; write && or || between two conditions`}},
		{"two conditions", `vars.on vars.off`, []string{`9:17: unexpected "vars.off"; write && or || between two conditions`}},
		{"three compared", `1 == 1 == 1`, []string{`9:16: unexpected "=="; write && or || between two conditions`}},
		{"one equals sign", `vars.on = 'yes'`, []string{`9:17: unexpected "="; write == to compare`}},
		{"one ampersand", `vars.on & vars.off`, []string{`9:17: unexpected "&"; write && or ||`}},
		{"a number that goes on", `vars.on == 1x`, []string{`9:20: "1x" is neither a number nor a name; put a text in quotes`}},
		{"a quote", `vars.on == 'yes`, []string{`9:20: unclosed quote; close it; a quote within is doubled`}},
		{"in single quotes", `'vars.on == ''it'' && vars.onn'`, []string{`9:31: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"in double quotes", `"vars.on == \"é\" && vars.onn"`, []string{`9:30: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"in double quotes with other escapes", `"vars.on == \x27y\x27 && vars.onn"`, []string{`9:9: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"on several lines", ">-  # why\n      vars.on\n\n      == 'yes'   && vars.onn", []string{`12:21: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"on several plain lines", "vars.on\n      && vars.onn", []string{`10:10: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"literally", "|\n      ${{ vars.on\n        && vars.onn }}", []string{`11:12: unknown variable "vars.onn"; did you mean "vars.on"?`}},
		{"nested", strings.Repeat("(", 40) + "1" + strings.Repeat(")", 40), []string{`9:41: the condition is nested more than 32 deep; make it flatter`}},
		{"denied again and again", `"` + strings.Repeat("!", 40) + `1"`, []string{`9:42: the condition is nested more than 32 deep; make it flatter`}},
		{"long", `'` + strings.Repeat("1 && ", 1000) + `1'`, []string{`9:10: the condition exceeds 4096 bytes; shorten it`}},
		{"a tag", `!vars.on`, []string{`9:9: the tag "!vars.on" is not supported; remove it, or put a string that starts with ! in quotes`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := conditional(t, tt.condition, nil)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "m.yaml:")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
