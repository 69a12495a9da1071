package command

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"mvdan.cc/sh/v3/shell"
)

var (
	// shBlock is a block of commands, indented or fenced; inlineCommand one in a text.
	shBlock       = regexp.MustCompile("(?ms)^```sh\n(.*?)^```|^    (\\S[^\n]*)$")
	inlineCommand = regexp.MustCompile("`(millhand(?: [^`]*)?)`")
	// called is a call of millhand in a line of a shell.
	called = regexp.MustCompile(`(?:^|[|(;&] *|sudo -u millhand |=\S* )(?:millhand|go run \.) +(\S[^|;&)>]*)`)
	// placeholder is a name in capitals, optional ones in brackets.
	placeholder = regexp.MustCompile(`^\[?[A-Z][A-Z_.-]*(\.\.\.)?\]?$`)
)

// TestCommandsOfTheDocuments reads every command line of millhand in the documents, with the
// commands and flags that the program has.
func TestCommandsOfTheDocuments(t *testing.T) {
	t.Chdir("../..")
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Skipf("the tree is not a git repository: %v", err)
	}
	n := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.Contains(name, "testdata/") || strings.HasPrefix(name, "examples/go/shop/") || name == "CHANGELOG.md" {
			continue // another program, and commands of earlier versions
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			if n++; !understood(line) {
				t.Errorf("%s: millhand %s", name, line)
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestCommandsOfTheExamples reads the command lines in the units of systemd, the containers of
// Kubernetes and the scripts of the examples.
func TestCommandsOfTheExamples(t *testing.T) {
	dir := os.DirFS("../../examples")
	found := map[string]int{}
	for _, pattern := range []string{"*/*.service", "*/crontab", "*/*.sh", "kubernetes/*.yaml", "gitlab/.gitlab-ci.yml", "gitlab/*.yml"} {
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range exampleLines(t, name, string(text)) {
				if found[path.Dir(name)]++; !understood(line) {
					t.Errorf("examples/%s: millhand %s", name, line)
				}
			}
		}
	}
	for sub, n := range map[string]int{"cron": 2, "gitlab": 2, "kubernetes": 4, "systemd": 4} {
		if found[sub] < n {
			t.Errorf("only %d commands were found in examples/%s", found[sub], sub)
		}
	}
}

// started is a call of millhand in a unit or a script, and substituted the output of a command there.
var started, substituted = regexp.MustCompile(`(?m)(?:/usr/local/bin/|[;&|(] *|exec |^ *(?:- )?)millhand +(\S[^|;&)\n]*)`), regexp.MustCompile(`\$\([^()]+\)`)

// exampleLines returns the arguments of the calls of millhand in a file.
func exampleLines(t *testing.T, name, text string) []string {
	t.Helper()
	var lines []string
	text = substituted.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "1")
	for _, m := range started.FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	if !strings.HasPrefix(name, "kubernetes/") {
		return lines
	}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var object struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command, Args []string }
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			if c.Command == nil { // millhand is the entry point of the image
				lines = append(lines, strings.Join(c.Args, " "))
			}
		}
	}
	return lines
}

// commandLines returns the arguments of the calls of millhand in a document.
func commandLines(text string) []string {
	var lines []string
	for _, m := range shBlock.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(m[1]+m[2], "\\\n", " "), "\n")...)
	}
	for _, m := range inlineCommand.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.ReplaceAll(m[1], "\n", " "))
	}
	var calls []string
	for _, line := range lines {
		for _, m := range called.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			calls = append(calls, m[1])
		}
	}
	return calls
}

// understood reports whether the program has the command and the flags of a command line, whose
// values may be placeholders.
func understood(line string) bool {
	args, err := shell.Fields(line, func(string) string { return "1" })
	if err != nil {
		return false
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "..." })
	err = accepted(args)
	switch {
	case err == nil, strings.Contains(err.Error(), "requires a subcommand"):
		return true
	case strings.Contains(err.Error(), "flag needs an argument"): // a text that names a flag
		return true
	default:
		return strings.Contains(err.Error(), "invalid value") && slices.ContainsFunc(args, placeholder.MatchString)
	}
}
