package tasks

import (
	"gopkg.in/yaml.v3"
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
