package opencode

import "gopkg.in/yaml.v3"

// mapping is a YAML mapping that keeps the order of its keys.
type mapping struct{ node *yaml.Node }

func newMapping() mapping { return mapping{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m mapping) empty() bool { return len(m.node.Content) == 0 }

// set adds a key. A comment follows the value on its line.
func (m mapping) set(key string, value *yaml.Node, comment string) {
	k := text(key)
	if value.Kind == yaml.ScalarNode {
		value.LineComment = comment
	} else {
		k.HeadComment = comment
	}
	m.node.Content = append(m.node.Content, k, value)
}

// text is a string, which is quoted where YAML would read another type.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// plain is a number or a boolean as it is written.
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// list is a list of strings on one line.
func list(items ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, s := range items {
		n.Content = append(n.Content, text(s))
	}
	return n
}

// sequence is a list of mappings.
func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func keys(m mapping) []string {
	var names []string
	for i := 0; i < len(m.node.Content); i += 2 {
		names = append(names, m.node.Content[i].Value)
	}
	return names
}
