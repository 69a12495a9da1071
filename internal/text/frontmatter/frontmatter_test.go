package frontmatter

import (
	"errors"
	"strings"
	"testing"
)

type sample struct {
	Name string   `yaml:"name"`
	Many []string `yaml:"many"`
}

func TestParse(t *testing.T) {
	tests := []struct{ name, text, head, body string }{
		{"a head and a body", "---\nname: a\n---\nbody\n", "a", "body\n"},
		{"an empty body", "---\nname: a\n---\n", "a", ""},
		{"no line end behind", "---\nname: a\n---", "a", ""},
		{"an empty head", "---\n---\nbody", "", "body"},
		{"a head of comments", "---\n# x\n---\nbody", "", "body"},
		{"CRLF", "---\r\nname: a\r\n---\r\nbody\r\n", "a", "body\r\n"},
		{"a byte order mark", "\uFEFF---\nname: a\n---\nbody", "a", "body"},
		{"white space behind the fences", "--- \nname: a\n---\t\nbody", "a", "body"},
		{"a rule in the body", "---\nname: a\n---\nbody\n---\nmore\n", "a", "body\n---\nmore\n"},
		{"hyphens in a value", "---\nname: \"a\\n---\"\n---\nbody", "a\n---", "body"},
		{"keys of others", "---\nname: a\nlicense: MIT\nmetadata: {x: [1, 2]}\n---\nbody", "a", "body"},
		{"a number for a text", "---\nname: 12\n---\n", "12", ""},
		{"a text of several lines", "---\nname: |\n  a\n  b\n---\n", "a\nb\n", ""},
		{"a colon in a value", "---\nname: use when: it's so\nlicense: MIT\n---\nbody", "use when: it's so", "body"},
		{"a colon at a value's end", "---\r\nmany: [a]\r\nname: use this: \r\n---\r\nbody", "use this:", "body"},
		{"a colon beside nested keys", "---\nmetadata:\n  a: [1]\nname: a: b: c\n---\n", "a: b: c", ""},
		{"quotes around a colon", "---\nname: 'use: this'\n---\n", "use: this", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var head sample
			body, err := Parse(tt.text, &head)
			if err != nil || head.Name != tt.head || body != tt.body {
				t.Errorf("got %q, %q, %v", head.Name, body, err)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	bomb := "---\na: &a [x,x]\nb: &b [*a,*a]\n---\n"
	tests := []struct{ name, text, want string }{
		{"no end", "---\nname: a\n", "line 1: frontmatter has no closing --- line"},
		{"a list", "---\n- a\n---\n", "line 2: frontmatter is not a mapping"},
		{"a word", "---\na\n---\n", "line 2: frontmatter is not a mapping"},
		{"a colon in a deeper value", "---\nx:\n  y: use: this\n---\n", "line 3: mapping values are not allowed in this context (a value that contains a colon"},
		{"a colon and a broken line", "---\nx: 1\nname: use: this\n [\n---\n", "line 3: mapping values are not allowed in this context (a value that contains a colon"},
		{"a list for a text", "---\nx: 1\nname: [a]\n---\n", "line 3: cannot unmarshal !!seq into string"},
		{"a key twice", "---\nname: a\nname: b\n---\n", "line 3: duplicate key name"},
		{"a key twice, deeper", "---\nx: {a: 1, a: 2}\n---\n", "line 2: duplicate key a"},
		{"aliases", bomb, "line 2: anchors and aliases are not supported"},
		{"a merge key", "---\nx: {<<: {a: 1}}\n---\n", "line 2: a key must be a plain word"},
		{"a key that is a list", "---\n? [a]\n: b\n---\n", "line 2: a key must be a plain word"},
		{"a tag", "---\nname: !!binary aGk=\n---\n", "line 2: tags such as !!binary are not supported"},
		{"too deep", "---\nx: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n---\n", "nested more than 16 levels deep"},
		{"too long", "---\nname: " + strings.Repeat("x", MaxHead) + "\n---\n", "frontmatter exceeds 64 KiB"},
		{"bytes that are no text", "---\nname: \xff\n---\n", "frontmatter is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if body, err := Parse(tt.text, &sample{}); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, %v; want %s", body, err, tt.want)
			}
		})
	}
	for _, text := range []string{"", "body", "# ---\n", "\n---\nname: a\n---\n", "----\n---\n", "- --\n"} {
		if _, err := Parse(text, &sample{}); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"---\nname: a\nmany: [b]\n---\nbody", "---\na: &a [x]\nb: *a\n---\n", "---\r\n? a\n---", "---\nname: |\n ---\n---\nx", "---\nname: \"\\x00\"\n---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var head sample
		body, err := Parse(text, &head)
		if err == nil && !strings.HasSuffix(text, body) {
			t.Errorf("the body %q is not the file's end", body)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %v", err)
		}
	})
}
