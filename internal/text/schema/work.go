package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxSteps   = 1 << 19 // schemas and values of one check; see work.spend
	maxFrames  = 50_000  // schemas that apply within each other
	maxTracked = 50      // objects and arrays within each other, if alternatives are checked for what they evaluate
	smallEnum  = 16      // values that are compared without counting them
)

// work limits one check of a schema at a time. Without a limit, alternatives within alternatives need
// time that is exponential in the depth of a document.
type work struct {
	mu     sync.Mutex
	steps  int  // that are left
	depth  int  // of the document
	height int  // of schemas that apply to the same value, within each other
	tracks bool // alternatives of a value are all checked, for what is unevaluated
}

// exceeded is the value of a panic that ends a check.
type exceeded string

func (w *work) spend(n int) {
	if w.steps -= n; w.steps < 0 {
		panic(exceeded("the check against the schema needs too much work"))
	}
}

// prepare makes compiled schemas count their work, and returns what is wrong with them.
func (w *work) prepare(roots []*jsonschema.Schema) Faults {
	known, all := map[*jsonschema.Schema]bool{}, []*jsonschema.Schema{}
	use := func(schemas []*jsonschema.Schema) {
		for _, s := range schemas {
			if !known[s] {
				known[s] = true
				all = append(all, s)
			}
		}
	}
	use(roots)
	dynamic := false
	for i := 0; i < len(all); i++ {
		use(direct(all[i]))
		use(within(all[i]))
		dynamic = dynamic || all[i].DynamicRef != nil || all[i].RecursiveRef != nil
	}
	slices.SortFunc(all, byLocation)
	heights := map[*jsonschema.Schema]int{}
	for _, s := range all {
		w.height = max(w.height, height(s, heights))
		if w.height >= endless {
			return Faults{{path(s.Location), Other("schema refers to itself without end, which needs too much work")}}
		}
	}
	if dynamic {
		w.height = len(all) // each may be the target of a dynamic reference
	}
	for _, s := range all {
		w.count(s)
	}
	return nil
}

const endless = 1 << 30 // the height of a schema that applies to a value because it applies to it

// height returns how many schemas apply to the same value within each other.
func height(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = endless
	n := 0
	for _, sub := range direct(s) {
		n = max(n, height(sub, known))
	}
	known[s] = min(n+1, endless)
	return known[s]
}

// count makes a schema count its work. The library checks the format of a value after its
// type, constant and enum and before everything else.
func (w *work) count(s *jsonschema.Schema) {
	if s.DraftVersion < 2019 && s.Ref != nil {
		s.Const = nil // as all keywords beside $ref
	}
	cost := 1 + len(s.Required)/16
	for _, names := range s.DependentRequired {
		cost += 1 + len(names)/16
	}
	for _, dependency := range s.Dependencies {
		names, _ := dependency.([]string)
		cost += 1 + len(names)/16
	}
	if n := weight(s); n > smallEnum {
		cost += n
		s.AllOf = append(s.AllOf, &jsonschema.Schema{DraftVersion: s.DraftVersion, Location: s.Location, Enum: s.Enum, Const: s.Const})
		s.Enum, s.Const = nil, nil
	}
	if s.UniqueItems {
		s.UniqueItems = false
		s.Extensions = append(s.Extensions, unique{w})
	}
	if names := s.PropertyNames; names != nil {
		s.PropertyNames = nil
		s.Extensions = append(s.Extensions, propertyNames{names})
	}
	w.tracks = w.tracks || len(s.AnyOf) > 1 && (s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil)
	n, dynamic := 1+len(direct(s)), s.DynamicRef != nil || s.RecursiveRef != nil
	s.Format = &jsonschema.Format{Name: "work", Validate: func(v any) error {
		if w.depth > maxDepth || w.depth*w.height > maxFrames {
			panic(exceeded("nested too deeply to be checked against the schema"))
		}
		if w.tracks && w.depth > maxTracked {
			w.spend(maxSteps) // it is exponential in the depth unless the first alternative evaluates all
		}
		values := size(v)
		w.spend(cost + values + n*(1+(values+w.depth)/16))
		if dynamic {
			w.spend(w.depth)
		}
		return nil
	}}
}

func size(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	case string:
		return len(v) / 64
	}
	return 0
}

// weight returns the work of comparing a value with those of the schema's enum and constant.
func weight(s *jsonschema.Schema) int {
	n := 0
	if s.Const != nil {
		n += weightOf(*s.Const)
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			n += weightOf(v)
		}
	}
	return n
}

func weightOf(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += weightOf(item)
		}
	case map[string]any:
		for _, item := range v {
			n += weightOf(item)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// unique checks uniqueItems. The library compares each pair of items whose hashes are equal, and
// those of [[], []] and [[[]]] are.
type unique struct{ work *work }

// Validate implements jsonschema.SchemaExt.
func (u unique) Validate(ctx *jsonschema.ValidatorContext, v any) {
	list, _ := v.([]any)
	known := map[string]int{}
	for i, item := range list {
		var text strings.Builder
		writeKey(&text, item)
		u.work.spend(text.Len() / 16)
		if first, ok := known[text.String()]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		known[text.String()] = i
	}
}

// writeKey writes a text that is equal for equal values.
func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeKey(b, name)
			writeKey(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
		}
		b.WriteByte(']')
	case string:
		fmt.Fprintf(b, "s%d:%s", len(v), v)
	case json.Number, float64, int, int64:
		text := fmt.Sprint(v)
		if n, ok := new(big.Rat).SetString(text); ok {
			text = n.RatString()
		}
		b.WriteString(text + ";")
	default:
		fmt.Fprintf(b, "%v;", v)
	}
}

// propertyNames checks propertyNames. The library does it, but its faults have the locations of
// values that are checked later.
type propertyNames struct{ names *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	obj, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if err, ok := p.names.Validate(name).(*jsonschema.ValidationError); ok { //nolint:errorlint // it is the type that the library returns
			ctx.AddErrors([]*jsonschema.ValidationError{err}, &kind.PropertyNames{Property: name})
		}
	}
}

// direct returns the schemas that apply to the same value.
func direct(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	all = append(all, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, dependency := range s.Dependencies {
		sub, _ := dependency.(*jsonschema.Schema)
		all = append(all, sub)
	}
	return present(all)
}

// within returns the schemas that apply to values in the value.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.PrefixItems, slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)))
	all = append(all, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems)
	for _, either := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			all = append(all, sub)
		case []*jsonschema.Schema:
			all = append(all, sub...)
		}
	}
	return present(all)
}

func present(all []*jsonschema.Schema) []*jsonschema.Schema {
	all = slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
	slices.SortFunc(all, byLocation)
	return all
}

func byLocation(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) }
