package arguments

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/textcut"
)

// propertyForm matches the names of properties that all providers accept: Anthropic refuses a
// request, and so every tool, because of one other name.
var propertyForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
})

// renames are the properties of an offered schema that have other names than in the tool's own one.
// nil: none have.
type renames struct {
	own   map[string]string   // the tool's own names, by offered ones
	below map[string]*renames // of the values of properties, by their own names
	items *renames
}

// renameProperties returns an offered schema with names of properties that all providers
// accept, and what restores the tool's own names in arguments.
func renameProperties(s map[string]any) (map[string]any, *renames) {
	var r renames
	out := maps.Clone(s)
	if items, ok := s["items"].(map[string]any); ok {
		out["items"], r.items = renameProperties(items)
	}
	if props, ok := s["properties"].(map[string]any); ok {
		r.properties(out, props)
	}
	if len(r.own) == 0 && len(r.below) == 0 && r.items == nil {
		return s, nil
	}
	return out, &r
}

// properties renames the properties of an object, and the required ones.
func (r *renames) properties(out, props map[string]any) {
	offered, names := map[string]any{}, map[string]string{}
	for own := range props {
		if propertyForm().MatchString(own) {
			names[own] = own
		}
	}
	for _, own := range slices.Sorted(maps.Keys(props)) {
		name := own
		if names[own] == "" {
			name = offeredName(own, names)
			names[name] = own
			r.own = with(r.own, name, own)
		}
		sub, ok := props[own].(map[string]any)
		if !ok {
			offered[name] = props[own]
			continue
		}
		sub, below := renameProperties(sub)
		if below != nil {
			r.below = with(r.below, own, below)
		}
		if name != own {
			sub = maps.Clone(sub)
			text, _ := sub["description"].(string)
			sub["description"] = strings.TrimSpace(fmt.Sprintf("%s (named %q in the tool)", text, textcut.Head(own, 200, "...")))
		}
		offered[name] = sub
	}
	out["properties"] = offered
	required, _ := out["required"].([]any)
	required = slices.Clone(required)
	for name, own := range r.own {
		if i := slices.Index(required, any(own)); i >= 0 {
			required[i] = name
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
}

// with adds an entry to a map, which may be nil.
func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// offeredName returns a valid name that is not used, derived from one that is not valid.
func offeredName(own string, used map[string]string) string {
	const most = 60 // of 64; the rest is for a number
	name := strings.Map(func(r rune) rune {
		if propertyForm().MatchString(string(r)) {
			return r
		}
		return '_'
	}, own)
	if name = strings.Trim(name, "_"); name == "" {
		name = "argument"
	}
	name = name[:min(len(name), most)]
	for n, base := 2, name; ; n++ {
		if _, taken := used[name]; !taken {
			return name
		}
		name = base[:min(len(base), most-3)] + "_" + strconv.Itoa(n)
	}
}

// restore returns arguments with the tool's own names. A model that uses these
// itself is understood, too.
func (r *renames) restore(v any) any {
	if r == nil {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = r.items.restore(v[i])
		}
	case map[string]any:
		for name, own := range r.own {
			value, given := v[name]
			if _, both := v[own]; given && !both {
				delete(v, name)
				v[own] = value
			}
		}
		for own, below := range r.below {
			if value, given := v[own]; given {
				v[own] = below.restore(value)
			}
		}
	}
	return v
}
