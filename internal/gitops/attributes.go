package gitops

import (
	"bytes"
	"maps"
	"strings"

	"github.com/millhand/millhand/internal/ignore"
)

// attributes says what gitattributes files give one path. An attribute that is
// set is "true", one that is unset is "false", one that is unspecified is missing.
type attributes map[string]string

// attributeFile is one gitattributes file.
type attributeFile struct {
	lines  []attributeLine
	macros map[string][]attribute
}

// attributeLine is a pattern and what it gives.
type attributeLine struct {
	pattern *ignore.Matcher
	gives   []attribute
}

// attribute is one word of a line; an empty value takes back what weaker lines
// have said.
type attribute struct{ name, value string }

// longestAttributeLine is git's limit: longer lines are passed over.
const longestAttributeLine = 2048

// parseAttributes reads a gitattributes file of a directory, which is "" for the
// root. As in git, only some files may define macros.
func parseAttributes(data []byte, dir string, macros bool) *attributeFile {
	f := &attributeFile{macros: map[string][]attribute{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		text := strings.Trim(string(line), " \t\r\n")
		if len(line) > longestAttributeLine || text == "" || text[0] == '#' {
			continue
		}
		f.add(text, dir, macros)
	}
	return f
}

func (f *attributeFile) add(line, dir string, macros bool) {
	pattern, rest := cutPattern(line)
	words := strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune(" \t\r\n", c) })
	gives := make([]attribute, 0, len(words))
	for _, w := range words {
		gives = append(gives, parseAttribute(w))
	}
	if name, ok := strings.CutPrefix(pattern, "[attr]"); ok {
		if macros {
			f.macros[name] = gives
		}
		return
	}
	if strings.HasPrefix(pattern, "!") || strings.HasSuffix(pattern, "/") {
		return // git allows neither negation nor whole directories
	}
	m := (*ignore.Matcher)(nil).Descend(dir, ignoreLine(pattern))
	f.lines = append(f.lines, attributeLine{pattern: m, gives: gives})
}

// cutPattern takes the pattern off a line; it may be quoted like a path in a patch.
func cutPattern(line string) (pattern, rest string) {
	if line[0] == '"' {
		if p, n := unquotePath(line); n > 0 {
			return p, line[n:]
		}
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], line[end:]
}

// ignoreLine writes a pattern as a line of an ignore file: the rules are the same,
// but for what such a file reads differently at a line's begin and end.
func ignoreLine(pattern string) []byte {
	if strings.HasPrefix(pattern, "#") {
		pattern = `\` + pattern
	}
	kept := strings.TrimRight(pattern, " ")
	return []byte(kept + strings.Repeat(`\ `, len(pattern)-len(kept)) + "\n")
}

func parseAttribute(word string) attribute {
	switch word[0] {
	case '-':
		return attribute{word[1:], "false"}
	case '!':
		return attribute{word[1:], ""}
	}
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		return attribute{name, "true"}
	}
	return attribute{name, value}
}

// attributeStack holds files in the order of git's precedence, the weakest first.
type attributeStack []*attributeFile

// of returns the attributes of a path.
func (s attributeStack) of(p string) attributes {
	macros := map[string][]attribute{"binary": {{"diff", "false"}, {"merge", "false"}, {"text", "false"}}}
	for _, f := range s {
		maps.Copy(macros, f.macros)
	}
	found := attributes{}
	for _, f := range s {
		for _, line := range f.lines {
			if line.pattern.Ignored(p, false) {
				found.apply(line.gives, macros, 0)
			}
		}
	}
	return found
}

// mostMacros bounds how deep macros may name macros.
const mostMacros = 8

func (a attributes) apply(gives []attribute, macros map[string][]attribute, depth int) {
	for _, g := range gives {
		if g.value == "" {
			delete(a, g.name)
			continue
		}
		a[g.name] = g.value
		if more, ok := macros[g.name]; ok && g.value == "true" && depth < mostMacros {
			a.apply(more, macros, depth+1)
		}
	}
}

// directoriesOf returns the directories above a path, from the root "" downwards.
func directoriesOf(p string) []string {
	dirs := []string{""}
	for i := range len(p) {
		if p[i] == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

func inDirectory(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
