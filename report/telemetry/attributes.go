package telemetry

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/millhand/millhand/internal/text/printable"
)

// attributes are built by its methods, which return the extended list.
type attributes []attribute.KeyValue

// maxText is the maximum length of a text, in characters: names of tools are a model's.
const maxText = 256

// text adds a text as one printable line, unless it is empty.
func (a attributes) text(key attribute.Key, s string) attributes {
	if s = printable.Line(s, maxText); s == "" {
		return a
	}
	return append(a, key.String(s))
}

func (a attributes) texts(key attribute.Key, s string) attributes {
	if s = printable.Line(s, maxText); s == "" {
		return a
	}
	return append(a, key.StringSlice([]string{s}))
}

func (a attributes) int(key attribute.Key, n int64) attributes { return append(a, key.Int64(n)) }

// some adds a number unless it is 0.
func (a attributes) some(key attribute.Key, n int64) attributes {
	if n == 0 {
		return a
	}
	return a.int(key, n)
}

func (a attributes) double(key attribute.Key, f float64) attributes {
	return append(a, key.Float64(f))
}

func (a attributes) bool(key attribute.Key, b bool) attributes { return append(a, key.Bool(b)) }

// replace sets an attribute to a text, removing earlier ones with the key.
func (a attributes) replace(key, s string) attributes {
	return slices.DeleteFunc(a, func(b attribute.KeyValue) bool { return string(b.Key) == key }).text(attribute.Key(key), s)
}
