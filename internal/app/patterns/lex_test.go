package patterns

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokensAreThoseOfTheLanguage(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.go", "b, err := os.ReadFile(p) // why", "b , err := os.ReadFile ( p ) <comment>"},
		{"a.go", "x := `a\nb` + \"c\\\"d\" /* e\nf */ + 0o644", "x := <string> + <string> <comment> + 0o644"},
		{"a.go", "/* not closed\ncode()", "<comment> code ( )"},
		{"a.go", "s := \"not closed\ncode()", "s := <string> code ( )"},
		{"a.cc", "#include <a.h>\np->next = std::move(q);", "# include < a.h > p->next = std::move ( q ) ;"},
		{"a.rs", "#[allow(dead_code)]\nlet s: &'a str = \"\";", "# [ allow ( dead_code ) ] let s : & ' a str = <string> ;"},
		{"a.py", "if x:\n    return 1 # no", "<0> if x : <4> return 1 <comment>"},
		{"a.sh", "echo a#b # c", "echo a # b <comment>"},
		{"a.yaml", "on: # why\n  - \"a\"", "<0> on : <comment> <2> - <string>"},
		{"a.txt", "it's \"one\" text", `it's "one" text`},
		{"a.js", "const f = async (x) => `a${x}`", "const f = async ( x ) => <string>"},
		{"bad.go", "a\xff\x1b[31m := \"\xfe\"", "a\xff \x1b [ 31m := <string>"},
	} {
		var got []string
		for _, tok := range familyOf(tt.file).lex(strings.Split(tt.text, "\n")) {
			switch tok.kind {
			case commentKind:
				got = append(got, "<comment>")
			case stringKind:
				got = append(got, "<string>")
			case indentKind:
				got = append(got, "<"+tok.text+">")
			default:
				got = append(got, tok.text)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.file, tt.text, text, tt.want)
		}
	}
}

func TestImportsAreRecognized(t *testing.T) {
	for _, tt := range []struct {
		file, line string
		want       bool
	}{
		{"a.go", `	"os"`, true},
		{"a.go", `	yaml "gopkg.in/yaml.v3" // v3`, true},
		{"a.go", `	_ "embed"`, true},
		{"a.go", `	return "os"`, false},
		{"a.go", `	"os",`, false},
		{"a.py", "    from os import path", true},
		{"a.py", `"os"`, false},
		{"a.js", `import x from "y"`, true},
		{"a.c", "#include <a.h>", true},
		{"a.c", "#define A", false},
		{"a.go", `use(x)`, false},
		{"a.go", `extern := 1`, false},
		{"a.js", `use(x)`, false},
		{"a.rs", `use std::fs;`, true},
		{"a.rs", `from(x)`, false},
		{"a.php", `use Foo\Bar;`, true},
		{"a.cs", `using System;`, true},
		{"go.mod", `require example.com/x v1.0.0`, true},
		{"a.yaml", `package: x`, false},
	} {
		tokens := familyOf(tt.file).lex([]string{tt.line})
		if got := tokens[len(tokens)-1].fixed; got != tt.want {
			t.Errorf("%s %q: got %v", tt.file, tt.line, got)
		}
	}
}

func TestDirectivesAreFoundInComments(t *testing.T) {
	for line, want := range map[string]string{
		"x() //nolint:errcheck":                 "[nolint]",
		"x() // #nosec G304":                    "[#nosec]",
		"//  @ts-ignore":                        "[@ts-ignore]",
		"/* eslint-disable-next-line no-var */": "[eslint-disable-next-line]",
		"import x  # noqa: F401":                "[# noqa]",
		"x = y  # type: ignore[arg-type]":       "[# type: ignore]",
		`@SuppressWarnings("unchecked")`:        "[@SuppressWarnings]",
		"#[allow(dead_code)]":                   "[#[allow]",
		"# rubocop:disable Style/Foo":           "[rubocop:disable]",
		"// NOLINTNEXTLINE(a)":                  "[NOLINTNEXTLINE]",
		"# pragma: no cover":                    "[# pragma: no cover]",
		"set +e":                                "[set +e]",
		"ignore(x)":                             "[]",
		"// allowed by the policy":              "[]",
		"x.disable()":                           "[]",
	} {
		if got := fmt.Sprint(directives(line)); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}
