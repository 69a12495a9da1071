package tasks

import (
	"net/mail"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks/problem"
)

// short is the form of a mapping that may also be written as the value of one of its keys, of a
// type alone. key returns that key, or "" for a value that is no short form, and may record why.
// The value is read as the mapping, so that both mean the same to everything else.
func short[T any](f form[T], alone Type, key func(value) string) form[T] {
	read := f.read
	alone.Or = f.Or
	f.Or = &alone
	f.read = func(v value) (T, bool) {
		if k := key(v); k != "" {
			v = v.below(k)
		}
		return read(v)
	}
	return f
}

// below returns a mapping with the value under a key.
func (v value) below(key string) value {
	at := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: v.use.Line, Column: v.use.Column}
	v.node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column, Content: []*yaml.Node{at, v.use}}
	return v
}

// ifString is the key of strings.
func ifString(key string) func(value) string {
	return func(v value) string {
		if v.isScalar() && v.node.ShortTag() == "!!str" {
			return key
		}
		return ""
	}
}

// ifPaths is change's key of a glob or a list of them.
func ifPaths(v value) string {
	if v.isList() {
		return "paths"
	}
	return ""
}

// ifFindings is output's key of the name of the built-in schema. Another string could be the
// path of either of its files.
func ifFindings(v value) string {
	if v.isScalar() && v.node.Value == findings.Name {
		return "schema"
	}
	return ""
}

// repoKey is the key of a repository that is written as a path or a URL, in the same way as in a
// line of a list.
func repoKey(v value) string {
	s := v.node.Value
	switch {
	case ifString("path")(v) == "" || strings.TrimSpace(s) == "":
		return ""
	case isPath(s):
		return "path"
	}
	return "url"
}

// addressed is the author of a commit that is written as git does: NAME <EMAIL>.
func addressed(v value) (Person, bool) {
	t, ok := v.filled()
	if !ok {
		return Person{}, false
	}
	a, err := mail.ParseAddress(t.s)
	if err != nil || a.Name == "" {
		v.problem("invalid author "+problem.Quote(t.s), "write NAME <EMAIL>, or {name: NAME, email: EMAIL}")
		return Person{}, false
	}
	return Person{Name: a.Name, Email: a.Address}, true
}
