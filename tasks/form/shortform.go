package form

import (
	"gopkg.in/yaml.v3"
)

// Short is the form of a mapping that may also be written as the value of one of its keys, of a
// type alone. key returns that key, or "" for a value that is no short form, and may record why.
// The value is read as the mapping, so that both mean the same to everything else.
func Short[T any](f Of[T], alone Type, key func(Value) string) Of[T] {
	read := f.Read
	alone.Or = f.Type.Or
	f.Type.Or = &alone
	f.Read = func(v Value) (T, bool) {
		if k := key(v); k != "" {
			v = v.below(k)
		}
		return read(v)
	}
	return f
}

// below returns a mapping with the value under a key.
func (v Value) below(key string) Value {
	at := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: v.Use.Line, Column: v.Use.Column}
	v.Node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column, Content: []*yaml.Node{at, v.Use}}
	return v
}

// IfString is the key of strings.
func IfString(key string) func(Value) string {
	return func(v Value) string {
		if v.IsScalar() && v.Node.ShortTag() == "!!str" {
			return key
		}
		return ""
	}
}
