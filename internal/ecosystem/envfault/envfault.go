// Package envfault recognizes commands that failed because of their environment: a
// program, a dependency or the network is missing, whatever the files are that they
// work on. The texts that show it are a table, faults.txt. A fault that is not in the table
// is missed; a failing test must never be taken for one.
package envfault

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/textcut"
)

// Kind is what is missing.
type Kind string

// The kinds of faults.
const (
	Program    Kind = "program"
	Network    Kind = "network"
	Dependency Kind = "dependency"
)

// Fault is something that a command needs and that its environment lacks.
type Fault struct {
	Kind     Kind
	Evidence string // line of the output, shortened
	Fix      string // one line
}

// maxEvidence is the maximum length in bytes of a line that is shown.
const maxEvidence = 300

//go:embed faults.txt
var faults string

//go:embed ran.txt
var ran string

// table is the content of the two files.
type table struct {
	entries []entry
	ran     []*regexp.Regexp
}

// entry is a group of lines of faults.txt, which documents the fields.
type entry struct {
	kind  Kind
	match *regexp.Regexp
	also  []*regexp.Regexp
	line  string // "" for any
	exit  int    // 0 for any
	last  int    // 0 for any
	fix   string
}

var parsed = sync.OnceValues(func() (table, error) { return parse(faults, ran) })

// Find returns the fault that made a bash command line fail; false if its exit code and
// output, which may be only the tail, don't show one.
func Find(line string, exit int, output string) (Fault, bool) {
	t, err := parsed()
	if err != nil {
		panic(err) // a test parses the embedded files
	}
	if exit <= 0 {
		return Fault{}, false
	}
	lines := plainLines(output)
	if slices.ContainsFunc(t.ran, func(r *regexp.Regexp) bool { return anyLine(r, lines) }) {
		lines = lastLines(lines, 1) // of the shell, after the tests
	}
	for i := range t.entries {
		if f, ok := t.entries[i].find(line, exit, lines); ok {
			return f, true
		}
	}
	return Fault{}, false
}

// spaces replaces the spaces of pnpm's output.
var spaces = strings.NewReplacer("\u2009", " ", "\u00a0", " ")

// escape is an escape sequence of a terminal.
var escape = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// aside matches lines that follow the output of a command that failed, whatever its reason:
// npm's news, and the sandbox's denials, such as of npm's check for updates.
var aside = regexp.MustCompile(`^npm notice|^\(network access denied to `)

// lastLines returns the last n lines that are not aside, and those after them.
func lastLines(lines []string, n int) []string {
	start := len(lines)
	for ; start > 0 && n > 0; start-- {
		if !aside.MatchString(lines[start-1]) {
			n--
		}
	}
	return lines[start:]
}

// plainLines returns the lines of an output that are not empty, without escape sequences.
func plainLines(output string) []string {
	var lines []string
	for l := range strings.SplitSeq(spaces.Replace(escape.ReplaceAllString(output, "")), "\n") {
		if l = strings.TrimRight(l, "\r \t"); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// find returns the fault if the entry matches.
func (e *entry) find(line string, exit int, lines []string) (Fault, bool) {
	if e.exit != 0 && e.exit != exit {
		return Fault{}, false
	}
	for _, also := range e.also {
		if !anyLine(also, lines) {
			return Fault{}, false
		}
	}
	if e.last > 0 {
		lines = lastLines(lines, e.last)
	}
	for _, l := range lines {
		found := e.match.FindStringSubmatch(l)
		if found == nil {
			continue
		}
		group := ""
		if len(found) > 1 {
			group = found[1]
		}
		if e.line != "" && !regexp.MustCompile(strings.ReplaceAll(e.line, "$1", regexp.QuoteMeta(group))).MatchString(line) {
			continue
		}
		return Fault{
			Kind: e.kind, Evidence: textcut.Head(strings.TrimSpace(l), maxEvidence, "…"),
			Fix: strings.ReplaceAll(e.fix, "$1", textcut.Head(group, maxEvidence, "…")),
		}, true
	}
	return Fault{}, false
}

func anyLine(r *regexp.Regexp, lines []string) bool {
	return slices.ContainsFunc(lines, r.MatchString)
}

// parse reads the two files.
func parse(faults, ran string) (t table, err error) {
	for group := range strings.SplitSeq(faults, "\n\n") {
		e, any, err := parseEntry(group)
		if err != nil {
			return t, fmt.Errorf("faults.txt: %w in:\n%s", err, group)
		}
		if any {
			t.entries = append(t.entries, e)
		}
	}
	for l := range strings.Lines(ran) {
		if l = strings.TrimSuffix(l, "\n"); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		r, err := regexp.Compile(l)
		if err != nil {
			return t, fmt.Errorf("ran.txt: %w", err)
		}
		t.ran = append(t.ran, r)
	}
	return t, nil
}

// parseEntry reads a group of lines; any is false if all are comments.
func parseEntry(group string) (e entry, any bool, err error) {
	for l := range strings.Lines(group) {
		l = strings.TrimSuffix(l, "\n")
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		any = true
		name, value, _ := strings.Cut(l, ":")
		value = strings.TrimLeft(value, " ")
		var r *regexp.Regexp
		switch name {
		case "kind":
			e.kind = Kind(value)
		case "match", "also":
			if r, err = regexp.Compile(value); err != nil {
				return e, any, err
			}
			if name == "match" {
				e.match = r
			} else {
				e.also = append(e.also, r)
			}
		case "line":
			e.line = value
			_, err = regexp.Compile(strings.ReplaceAll(value, "$1", "x"))
		case "exit":
			e.exit, err = strconv.Atoi(value)
		case "last":
			e.last, err = strconv.Atoi(value)
		case "fix":
			e.fix = value
		default:
			err = fmt.Errorf("unknown field %q", name)
		}
		if err != nil {
			return e, any, err
		}
	}
	if any && (e.kind != Program && e.kind != Network && e.kind != Dependency || e.match == nil || e.fix == "") {
		err = fmt.Errorf("kind, match or fix is missing or invalid")
	}
	return e, any, err
}
