package schema

import (
	"net/url"
	"slices"
)

// position is a position in a schema document.
type position struct {
	up    *position
	key   string
	depth int
	below map[string]*position
	node  *node // the subschema there, once it is compiled
}

// child returns the position of a value of an object or array.
func (p *position) child(key string) *position {
	c := p.below[key]
	if c == nil {
		if p.below == nil {
			p.below = map[string]*position{}
		}
		c = &position{up: p, key: key, depth: p.depth + 1}
		p.below[key] = c
	}
	return c
}

// path returns the keys and indexes that lead to the position.
func (p *position) path() []string {
	var all []string
	for ; p.up != nil; p = p.up {
		all = append(all, p.key)
	}
	slices.Reverse(all)
	return all
}

// node is a compiled schema.
type node struct {
	at          *position
	in          *resource
	never       bool   // it is the schema false
	first       []rule // a value that violates one of them is not checked further
	rules       []rule
	unevaluated bool         // its rules need to know what others have evaluated
	uses        []*node      // subschemas that apply to values
	direct      []*node      // those that apply to the same value
	refs        []*reference // references
}

// resource is a schema with a base URI: the document, or a subschema with an "$id".
type resource struct {
	base      *url.URL
	draft     int
	root      *node
	raw       any
	recursive bool // "$recursiveAnchor"
	anchors   map[string]*node
	dynamic   map[string]*node // "$dynamicAnchor"
}

// reference is an occurrence of "$ref", "$dynamicRef" or "$recursiveRef".
type reference struct {
	from        *node
	keyword, to string
	target      *node
	fault       string // why it has no target
	anchor      string // of a dynamic reference
	recursive   bool   // it is a dynamic reference to recursive anchors
}

func (ref *reference) isDynamic() bool { return ref.anchor != "" || ref.recursive }

// following returns the schemas that apply to the same value.
func (n *node) following() []*node {
	all := slices.Clone(n.direct)
	for _, ref := range n.refs {
		if !ref.isDynamic() {
			all = append(all, ref.target)
		}
	}
	return all
}
