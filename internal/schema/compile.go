package schema

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// address is the base URI of schemas without an "$id".
const address = "millhand://schema/"

// The drafts, in their order.
const (
	draft4    = 4
	draft6    = 6
	draft7    = 7
	draft2019 = 2019
	draft2020 = 2020
)

// compiler compiles one document.
type compiler struct {
	resources map[string]*resource // by URI
	refs      []*reference
	patterns  int // instructions of regular expressions
	faults    Faults
}

// compile returns the schema of a document, or the faults of the document.
func compile(doc any) (*node, Faults) {
	base, _ := url.Parse(address) // it is valid
	res := &resource{base: base, draft: draft2020, raw: doc, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	c := &compiler{resources: map[string]*resource{address: res}}
	root := c.schema(doc, &position{}, res)
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	for i := 0; i < len(c.refs); i++ { // resolving one may compile a schema with others
		c.resolve(c.refs[i])
	}
	c.finish(root)
	return root, c.faults
}

func (c *compiler) fault(at *position, k Kind) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{at.path(), k})
	}
}

// schema returns the compiled schema at a position, which has the value raw.
func (c *compiler) schema(raw any, at *position, in *resource) *node {
	if at.node != nil {
		return at.node
	}
	n := &node{at: at, in: in}
	at.node = n
	if at.up == nil {
		in.root = n
	}
	if at.depth > maxNesting {
		c.fault(at, Other("schema nested too deeply"))
		return n
	}
	switch raw := raw.(type) {
	case bool:
		if in.draft >= draft6 || at.key == "additionalProperties" || at.key == "additionalItems" {
			n.never = !raw
			return n
		}
	case map[string]any:
		c.identify(n, raw)
		(&reader{c, n, raw}).read()
		return n
	}
	want := []string{"boolean", "object"}
	if in.draft < draft6 {
		want = want[1:]
	}
	c.fault(at, &Type{typeOf(raw), want})
	return n
}

// identify reads the draft, identifiers and anchors of a schema.
func (c *compiler) identify(n *node, m map[string]any) {
	root := n.at.up == nil
	id := identifier(m, n.in.draft)
	if name, ok := m["$schema"].(string); ok && (root || id != "") {
		draft := draftOf(name)
		if draft == 0 {
			c.fault(n.at.child("$schema"), Other("draft "+quote(name)+" is not supported"))
			return
		}
		if id = identifier(m, draft); root {
			n.in.draft = draft
		} else if draft != n.in.draft {
			in := *n.in
			in.draft = draft
			n.in = &in // until enter creates its own
		}
	}
	if _, ok := m["$ref"]; ok && n.in.draft < draft2019 {
		return // it makes others ineffective
	}
	uri, fragment, _ := strings.Cut(id, "#")
	if uri != "" {
		c.enter(n, m, uri)
	}
	switch {
	case n.in.draft < draft2019:
		c.anchor(n, n.in.anchors, fragment)
		return
	case fragment != "":
		c.fault(n.at.child("$id"), Other("must not have a fragment"))
	}
	if name, ok := m["$anchor"].(string); ok {
		c.anchor(n, n.in.anchors, name)
	}
	if name, ok := m["$dynamicAnchor"].(string); ok && n.in.draft >= draft2020 {
		c.anchor(n, n.in.anchors, name)
		c.anchor(n, n.in.dynamic, name)
	}
	if m["$recursiveAnchor"] == true && n.in.root == n && n.in.draft == draft2019 {
		n.in.recursive = true
	}
}

func identifier(m map[string]any, draft int) string {
	key := "$id"
	if draft == draft4 {
		key = "id"
	}
	id, _ := m[key].(string)
	return id
}

// enter makes a schema the root of a resource.
func (c *compiler) enter(n *node, m map[string]any, id string) {
	u, err := url.Parse(id)
	if err != nil {
		c.fault(n.at, Other("invalid $id "+quote(id)))
		return
	}
	u = n.in.base.ResolveReference(u)
	if c.resources[u.String()] != nil {
		c.fault(n.at, Other("duplicate $id "+quote(id)))
		return
	}
	if n.at.up == nil {
		n.in.base = u
	} else {
		n.in = &resource{base: u, draft: n.in.draft, root: n, raw: m, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	}
	c.resources[u.String()] = n.in
}

func (c *compiler) anchor(n *node, all map[string]*node, name string) {
	switch {
	case name == "":
	case all[name] != nil:
		c.fault(n.at, Other("duplicate anchor "+quote(name)))
	default:
		all[name] = n
	}
}

// draftOf returns the draft that "$schema" names, 0 if it is unknown.
func draftOf(name string) int {
	name, _ = strings.CutSuffix(name, "#")
	_, name, _ = strings.Cut(name, "://")
	switch name {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema":
		return draft2020
	case "json-schema.org/draft/2019-09/schema":
		return draft2019
	case "json-schema.org/draft-07/schema":
		return draft7
	case "json-schema.org/draft-06/schema":
		return draft6
	case "json-schema.org/draft-04/schema":
		return draft4
	}
	return 0
}

// resolve finds the target of a reference.
func (c *compiler) resolve(ref *reference) {
	u, err := url.Parse(ref.to)
	if err != nil {
		ref.fault = "invalid reference " + quote(ref.to)
		return
	}
	u = ref.from.in.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	res := c.resources[u.String()]
	if res == nil {
		ref.fault = "reference to another document, " + quote(ref.to) + ": nothing is read from elsewhere"
		return
	}
	switch {
	case fragment == "":
		ref.target = res.root
	case fragment[0] == '/':
		ref.target = c.find(res, fragment[1:])
	default:
		ref.target = res.anchors[fragment]
	}
	if ref.target == nil {
		ref.fault = quote(ref.to) + " not found"
		return
	}
	switch ref.keyword {
	case "$dynamicRef":
		if res.dynamic[fragment] == ref.target {
			ref.anchor = fragment
		}
	case "$recursiveRef":
		ref.recursive = ref.target.in.recursive
	}
}

// find returns the schema that a JSON pointer within a resource names, nil if it has none.
func (c *compiler) find(res *resource, pointer string) *node {
	raw, at, in := res.raw, res.root.at, res
	for key := range strings.SplitSeq(pointer, "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		ok := false
		switch v := raw.(type) {
		case map[string]any:
			raw, ok = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if ok = err == nil && i >= 0 && i < len(v) && strconv.Itoa(i) == key; ok {
				raw = v[i]
			}
		}
		if !ok {
			return nil
		}
		if at = at.child(key); at.node != nil {
			in = at.node.in
		}
	}
	return c.schema(raw, at, in)
}

// finish reports the faults of references in schemas that are in use: definitions that nothing
// refers to may be broken.
func (c *compiler) finish(root *node) {
	known, all := map[*node]bool{root: true}, []*node{root}
	use := func(n *node) {
		if n != nil && !known[n] {
			known[n] = true
			all = append(all, n)
		}
	}
	for i := 0; i < len(all); i++ {
		for _, n := range all[i].uses {
			use(n)
		}
		for _, ref := range all[i].refs {
			if use(ref.target); ref.fault != "" {
				c.fault(ref.from.at.child(ref.keyword), Other(ref.fault))
			}
			if ref.isDynamic() {
				c.eachDynamic(use)
			}
		}
	}
	if len(c.faults) == 0 {
		c.findCycle(all)
	}
}

// eachDynamic calls a function for each possible target of dynamic references.
func (c *compiler) eachDynamic(use func(*node)) {
	for _, uri := range slices.Sorted(maps.Keys(c.resources)) {
		res := c.resources[uri]
		for _, name := range slices.Sorted(maps.Keys(res.dynamic)) {
			use(res.dynamic[name])
		}
		if res.recursive {
			use(res.root)
		}
	}
}

// findCycle looks for schemas that apply to the same value without end: such a cycle is
// valid for no value. Cycles of dynamic references end at the limit of the depth.
func (c *compiler) findCycle(all []*node) {
	const active, done = 1, 2
	states := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		states[n] = active
		for _, sub := range n.following() {
			if states[sub] == active {
				c.fault(n.at, Other("schema refers to itself without end"))
				return false
			}
			if states[sub] == 0 && !visit(sub) {
				return false
			}
		}
		states[n] = done
		return true
	}
	for _, n := range all {
		if states[n] == 0 && !visit(n) {
			return
		}
	}
}
