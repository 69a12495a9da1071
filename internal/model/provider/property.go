package provider

import (
	"maps"
	"regexp"
	"slices"
	"sync"
)

// propertyForm matches the names of properties that Anthropic accepts.
var propertyForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
})

// Refuses returns the name of a property of an output schema for which the provider refuses each
// request, and whether there is one.
func (k Kind) Refuses(schema map[string]any) (property string, found bool) {
	if k.speaks != messages {
		return "", false
	}
	return refused(schema)
}

func refused(v any) (property string, found bool) {
	switch v := v.(type) {
	case []any:
		for _, sub := range v {
			if property, found = refused(sub); found {
				return property, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub := v[key]
			switch key {
			case "enum", "const", "default", "examples":
				continue
			case "properties":
				properties, _ := sub.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					if !propertyForm().MatchString(name) {
						return name, true
					}
					if property, found = refused(properties[name]); found {
						return property, true
					}
				}
				continue
			}
			if property, found = refused(sub); found {
				return property, true
			}
		}
	}
	return "", false
}
