package form

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks/problem"
)

// mistake is a file and the problems that are reported about it.
type mistake struct {
	name string
	file string
	want []string
}

// checkMistakes parses files, and reads their mappings and lists.
func checkMistakes(t *testing.T, table []mistake) {
	t.Helper()
	for _, tt := range table {
		t.Run(tt.name, func(t *testing.T) {
			found := problem.NewCollector()
			src := &Source{File: problem.File{Name: "m.yaml", Found: found}}
			if v, ok := src.Parse([]byte(tt.file)); ok {
				if _, ok := v.Entries(); ok {
					v.JSON()
				}
			}
			got := []string{}
			if err := found.Err(); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	checkMistakes(t, []mistake{
		{"an empty file", ``, []string{
			`m.yaml:1:1: the file is empty; name another file`,
		}},
		{"a comment alone", `# x`, []string{
			`m.yaml:1:1: the file is empty; name another file`,
		}},
		{"two documents", `version: 1
model: openai/m
tasks: [{id: a, prompt: p}]
---
version: 1`, []string{
			`m.yaml:4:1: the file contains several YAML documents; use one file for each document`,
		}},
		{"a second document without anything in it", `version: 1
model: openai/m
tasks: [{id: a, prompt: p}]
---
`, []string{
			`m.yaml:4:1: the file contains several YAML documents; use one file for each document`,
		}},
		{"a list", `- a`, []string{
			`m.yaml:1:1: the file must be a mapping, not a list; write KEY: VALUE`,
		}},
		{"a text", `hello`, []string{
			`m.yaml:1:1: the file must be a mapping, not the string "hello"; write KEY: VALUE`,
		}},
		{"a tab", "version: 1\ntasks:\n\t- id: x", []string{
			`m.yaml:3:1: a tab is used to indent; use spaces`,
		}},
		{"a tab in the indentation", "version: 1\nname: x\n\tfoo: x", []string{
			`m.yaml:3:1: a tab is used to indent; use spaces`,
		}},
		{"a wrong indentation", `# c
version: 1
limits:
  cost: 1
 turns: 2
jobs: 1`, []string{
			`m.yaml:5:2: this line does not fit the lines above it; check its indentation, and that quotes and brackets before it are closed`,
		}},
		{"an open bracket", `version: 1
name: [1,2
jobs: 3
`, []string{
			`m.yaml:3:1: a bracket is not closed, or a comma is missing; check the last [ or { before this line`,
		}},
		{"an open quote", `version: 1
name: "x
jobs: 3
`, []string{
			`m.yaml:2:1: unclosed quote; close it`,
		}},
		{"two colons", `version: 1
name: a: b
jobs: 3
`, []string{
			`m.yaml:2:1: unexpected colon, or wrong indentation; put a string that contains a colon in quotes`,
		}},
		{"a character that begins no text", `version: 1
name: @b
jobs: 3
`, []string{
			`m.yaml:2:1: a string cannot start with this character; put the string in quotes`,
		}},
		{"no colon", `version: 1
name
jobs: 3
`, []string{
			`m.yaml:2:1: a key without its colon; write KEY: VALUE, with a space after the colon`,
		}},
		{"an unknown anchor", `version: 1
name: *x
jobs: 3
`, []string{
			`m.yaml:2:1: an alias to the unknown anchor 'x'; define the anchor with & before its use`,
		}},
		{"text after quotes", `version: 1
name: "a" b
`, []string{
			`m.yaml:2:1: this line does not fit the lines above it; check its indentation, and that quotes and brackets before it are closed`,
		}},
		{"an entry in the wrong column", `tasks:
  - id: a
    prompt: x
   - id: b
`, []string{
			`m.yaml:4:4: this line does not fit the lines above it; check its indentation, and that quotes and brackets before it are closed`,
		}},
		{"a control character", "a: \x01", []string{
			`m.yaml:1:1: the file contains a control character; remove it`,
		}},
		{"another version of YAML", `%YAML 2.0
---
a: 1`, []string{
			`m.yaml:3:1: the file is not valid YAML: found incompatible YAML document; compare it with the examples in the manual`,
		}},
		{"a tag", `name: !!python/object:os.system x
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:7: the tag "!!python/object:os.system" is not supported; remove it, or put a string that starts with ! in quotes`,
		}},
		{"a binary", `name: !!binary aGk=
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:7: the tag "!!binary" is not supported; remove it, or put a string that starts with ! in quotes`,
		}},
		{"a number tagged as a text", `name: !!str 5
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{}},
		{"lists in lists", `vars: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:38: values are nested more than 32 deep; make it flatter`,
		}},
		{"an alias in its own anchor", `vars: &a [*a]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:11: values are nested more than 32 deep; make it flatter`,
		}},
		{"aliases of aliases", `vars:
  a: &a [x,x,x,x,x,x,x,x,x,x]
  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:6:31: the file expands to more than 100000 values; use fewer aliases, or split the file`,
		}},
		{"aliases of long texts", "a: &a " + strings.Repeat("x", 600<<10) + "\nb: [" + strings.Repeat("*a, ", 30) + "*a]\n", []string{
			`m.yaml:2:109: the file expands to more than 16 MiB of text; use fewer aliases`,
		}},
		{"merge keys of other types", `limits: {<<: 5, turns: 3}
budget: {<<: [{cost: 1}, 7]}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:14: "<<" must be a mapping, not the number 5; write KEY: VALUE`,
			`m.yaml:2:26: entry 2 of "<<" must be a mapping, not the number 7; write KEY: VALUE`,
		}},
		{"bytes that are no text", "version: 1\n# \u00e9\nname: a\xffb\n", []string{
			`m.yaml:3:1: the file is not UTF-8 text; save it as UTF-8`,
		}},
		{"a mistake after the document", "version: 1\n---\n[", []string{
			`m.yaml:3:1: this line does not fit the lines above it; check its indentation, and that quotes and brackets before it are closed`,
		}},
	})
}
