package opencode

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 256 << 10

// node is a JSON value whose objects keep their order, which decides about
// permissions. Exactly one of fields, items and value is used.
type node struct {
	object bool
	list   bool
	keys   []string
	fields map[string]*node
	items  []*node
	value  hujson.Literal
	at     string // FILE:LINE

	// Rights of several files are not merged if only OpenCode 2 accepts one of them.
	ordered bool
	rules   []rule
	second  bool // an agent in the form of OpenCode 2
}

// read returns the configuration of a directory, or nil if it has none. Later files
// take precedence over earlier ones.
func read(dir string) (*node, error) {
	var files []*node
	for _, name := range []string{"opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json"} {
		data, err := readFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		n, err := parse(name, data)
		if err != nil {
			return nil, err
		}
		files = append(files, n)
	}
	return merged(files), nil
}

// parse parses a file of the configuration.
func parse(name string, data []byte) (*node, error) {
	parsed, err := hujson.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	n := nodeOf(&parsed, name, data)
	if !n.object {
		return nil, fmt.Errorf("parse %s: it must contain an object", name)
	}
	return n, nil
}

// merged returns the configuration of several files in the form of OpenCode 1, nil for none.
func merged(files []*node) *node {
	var all *node
	second := false
	for _, n := range files {
		second = older(n) || second
	}
	order(files, second)
	for _, n := range files {
		if all == nil {
			all = n
		} else {
			all.merge(n)
		}
	}
	return all
}

// readFile reads a regular file of limited size.
func readFile(path string) ([]byte, error) {
	return readFileIn(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// readFileIn does so in a directory. It opens nothing else: a pipe would block.
func readFileIn(dir fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("not a file of at most %d KiB", maxFile>>10)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

func nodeOf(v *hujson.Value, file string, data []byte) *node {
	line := 1 + strings.Count(string(data[:v.StartOffset]), "\n")
	n := &node{at: fmt.Sprintf("%s:%d", file, line)}
	switch v := v.Value.(type) {
	case *hujson.Object:
		n.object, n.fields = true, map[string]*node{}
		for i := range v.Members {
			name, ok := v.Members[i].Name.Value.(hujson.Literal)
			if ok {
				n.set(name.String(), nodeOf(&v.Members[i].Value, file, data))
			}
		}
	case *hujson.Array:
		n.list = true
		for i := range v.Elements {
			n.items = append(n.items, nodeOf(&v.Elements[i], file, data))
		}
	case hujson.Literal:
		n.value = v
	}
	return n
}

func (n *node) set(key string, v *node) {
	if n.fields[key] == nil {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = v
}

// merge adds what a later file has. Its lists replace others, except those of
// plugins, instructions and rules, which are appended.
func (n *node) merge(later *node) {
	n.ordered, n.rules, n.second = n.ordered || later.ordered, slices.Concat(n.rules, later.rules), n.second || later.second
	for _, key := range later.keys {
		mine, theirs := n.fields[key], later.fields[key]
		switch {
		case mine != nil && mine.object && theirs.object:
			mine.merge(theirs)
		case mine != nil && mine.list && theirs.list && (key == "plugin" || key == "instructions" || key == "permissions"):
			mine.items = append(mine.items, theirs.items...)
		default:
			n.set(key, theirs)
		}
	}
}

// get returns the value at a path of keys, or an empty node.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n == nil || n.fields[key] == nil {
			return &node{}
		}
		n = n.fields[key]
	}
	return n
}

// or returns the value, or another one if it is missing.
func (n *node) or(other *node) *node {
	if n.at == "" {
		return other
	}
	return n
}

// text returns a string, and "" for other values.
func (n *node) text() string {
	if n.value.Kind() != '"' {
		return ""
	}
	return n.value.String()
}

// number returns a number as it is written, and "" for other values.
func (n *node) number() string {
	if n.value.Kind() != '0' {
		return ""
	}
	return string(n.value)
}

// is reports whether the value is a boolean, and this one.
func (n *node) is(b bool) bool {
	return n.value.Kind() == 't' && b || n.value.Kind() == 'f' && !b
}

// boolean returns a boolean as it is written, and "" for other values.
func (n *node) boolean() string {
	if n.is(true) || n.is(false) {
		return string(n.value)
	}
	return ""
}

// literal returns a scalar of YAML.
func literal(y *yaml.Node) hujson.Literal {
	switch y.ShortTag() {
	case "!!bool":
		return hujson.Bool(strings.EqualFold(y.Value, "true"))
	case "!!int", "!!float":
		return hujson.Literal(y.Value)
	case "!!null":
		return hujson.Literal("null")
	}
	return hujson.String(y.Value)
}
