package gitdir

import (
	"bytes"
	"maps"
	"strings"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/ignore"
)

// Attributes are the gitattributes of one path. A set attribute is "true", an
// unset one "false", an unspecified one is missing.
type Attributes map[string]string

// AttributeFile is one gitattributes file.
type AttributeFile struct {
	lines  []attributeLine
	macros map[string][]attribute
}

// attributeLine is a pattern and its attributes.
type attributeLine struct {
	pattern *ignore.Matcher
	gives   []attribute
}

// attribute is one word of a line; an empty value resets weaker lines.
type attribute struct{ name, value string }

// maxAttributeLine is git's limit; longer lines are ignored.
const maxAttributeLine = 2048

// ParseAttributes reads a gitattributes file of a directory, which is "" for the
// root. As in git, only some files may define macros.
func ParseAttributes(data []byte, dir string, macros bool) *AttributeFile {
	f := &AttributeFile{macros: map[string][]attribute{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		text := strings.Trim(string(line), " \t\r\n")
		if len(line) > maxAttributeLine || text == "" || text[0] == '#' {
			continue
		}
		f.add(text, dir, macros)
	}
	return f
}

func (f *AttributeFile) add(line, dir string, macros bool) {
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

// cutPattern splits the pattern off a line; it may be quoted like a path in a
// patch.
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
// except for what such a file reads differently at the start and end of a line.
func ignoreLine(pattern string) []byte {
	if strings.HasPrefix(pattern, "#") {
		pattern = `\` + pattern
	}
	trimmed := strings.TrimRight(pattern, " ")
	return []byte(trimmed + strings.Repeat(`\ `, len(pattern)-len(trimmed)) + "\n")
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

// AttributeStack holds files in the order of git's precedence, the weakest first.
type AttributeStack []*AttributeFile

// Of returns the attributes of a path.
func (s AttributeStack) Of(p string) Attributes {
	macros := map[string][]attribute{"binary": {{"diff", "false"}, {"merge", "false"}, {"text", "false"}}}
	for _, f := range s {
		maps.Copy(macros, f.macros)
	}
	found := Attributes{}
	for _, f := range s {
		for _, line := range f.lines {
			if line.pattern.Ignored(p, false) {
				found.apply(line.gives, macros, 0)
			}
		}
	}
	return found
}

// maxMacros is the maximum nesting of macros.
const maxMacros = 8

func (a Attributes) apply(gives []attribute, macros map[string][]attribute, depth int) {
	for _, g := range gives {
		if g.value == "" {
			delete(a, g.name)
			continue
		}
		a[g.name] = g.value
		if more, ok := macros[g.name]; ok && g.value == "true" && depth < maxMacros {
			a.apply(more, macros, depth+1)
		}
	}
}

// Parents returns the directories above a path, from the root "" downwards.
func Parents(p string) []string {
	dirs := []string{""}
	for i := range len(p) {
		if p[i] == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

// JoinPath returns the path of a name in a directory, which is "" for the root.
func JoinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Empty reports whether the file has no lines.
func (f *AttributeFile) Empty() bool { return len(f.lines)+len(f.macros) == 0 }

// Names reports whether a line gives an attribute, or a macro does.
func (f *AttributeFile) Names(attribute string) bool {
	if f == nil {
		return false
	}
	for _, line := range f.lines {
		for _, g := range line.gives {
			if g.name == attribute {
				return true
			}
		}
	}
	for _, gives := range f.macros {
		for _, g := range gives {
			if g.name == attribute {
				return true
			}
		}
	}
	return false
}

// ReadAttributeFile reads an attribute file that is not in a work tree; nil if missing.
func ReadAttributeFile(name string) (*AttributeFile, error) {
	data, err := sharedfile.ReadOptional(name)
	if err != nil || data == nil {
		return nil, err
	}
	return ParseAttributes(data, "", true), nil
}
