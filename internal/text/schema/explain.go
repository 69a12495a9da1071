package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const maxFaults = 100 // of one document

// collect returns the faults of a document, in the order of their locations: the library
// iterates over maps.
func collect(e *jsonschema.ValidationError) Faults {
	var all Faults
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.PropertyNames, *kind.Contains, *kind.MinContains:
		default:
			for _, cause := range e.Causes {
				visit(cause)
			}
			if len(e.Causes) > 0 {
				return
			}
		}
		all = append(all, Fault{e.InstanceLocation, kindOf(e)})
	}
	visit(e)
	all.sort()
	return all[:min(len(all), maxFaults)]
}

func (fs Faults) sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(slices.CompareFunc(a.At, b.At, compareKeys), cmp.Compare(a.String(), b.String()))
	})
}

// compareKeys compares indexes as numbers, and other keys as texts.
func compareKeys(a, b string) int {
	n, errA := strconv.Atoi(a)
	m, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(n, m)
	}
	return cmp.Compare(a, b)
}

// invalidName is a key that does not match a schema for keys.
type invalidName struct{ name, why string }

// String implements Kind.
func (k *invalidName) String() string { return "invalid property name " + quote(k.name) + ": " + k.why }

// kindOf returns what is wrong with a value, with numbers as they are written in JSON.
func kindOf(e *jsonschema.ValidationError) Kind {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return &Required{k.Missing}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		return &AdditionalProperties{k.Properties}
	case *kind.Type:
		return &Type{k.Got, k.Want}
	case *kind.Enum:
		return &Enum{k.Got, k.Want}
	case *kind.Const:
		return &Enum{k.Got, []any{k.Want}}
	case *kind.PropertyNames:
		invalid := &invalidName{name: k.Property}
		if len(e.Causes) > 0 {
			invalid.why = collect(e.Causes[0])[0].String()
		}
		return invalid
	case *kind.Pattern:
		return Other(quote(k.Got) + " does not match pattern " + quote(k.Want))
	case *kind.Format:
		return Other(fmt.Sprintf("%s is not valid %s: %v", display(k.Got), k.Want, k.Err))
	case *kind.AdditionalItems:
		return Other(fmt.Sprintf("last %d items not allowed", k.Count))
	case *kind.UniqueItems:
		return Other(fmt.Sprintf("items at %d and %d are equal", k.Duplicates[0], k.Duplicates[1]))
	case *kind.MinContains:
		return Other(fmt.Sprintf("min %d items required to match contains schema, but matched %d", k.Want, len(k.Got)))
	case *kind.MaxContains:
		return Other(fmt.Sprintf("max %d items required to match contains schema, but matched %d", k.Want, len(k.Got)))
	case *kind.RefCycle:
		return Other("the check against the schema needs too much work: it refers to itself without end")
	case nil:
		return Other("invalid")
	}
	if text := limitOf(e.ErrorKind); text != "" {
		return Other(text)
	}
	return Other(brief(e.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
}

// limitOf returns the text of a limit that is exceeded, "" for other kinds.
func limitOf(k jsonschema.ErrorKind) string {
	text := func(got, want any) string {
		return fmt.Sprintf("%s: got %v, want %v", strings.Join(k.KeywordPath(), "/"), got, want)
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return text(k.Got, k.Want)
	case *kind.MaxLength:
		return text(k.Got, k.Want)
	case *kind.MinItems:
		return text(k.Got, k.Want)
	case *kind.MaxItems:
		return text(k.Got, k.Want)
	case *kind.MinProperties:
		return text(k.Got, k.Want)
	case *kind.MaxProperties:
		return text(k.Got, k.Want)
	case *kind.Minimum:
		return text(decimal(k.Got), decimal(k.Want))
	case *kind.Maximum:
		return text(decimal(k.Got), decimal(k.Want))
	case *kind.ExclusiveMinimum:
		return text(decimal(k.Got), decimal(k.Want))
	case *kind.ExclusiveMaximum:
		return text(decimal(k.Got), decimal(k.Want))
	case *kind.MultipleOf:
		return text(decimal(k.Got), decimal(k.Want))
	}
	return ""
}

// decimal returns a number, which has few enough digits after the point to be exact.
func decimal(n *big.Rat) string {
	digits, _ := n.FloatPrec()
	text := n.FloatString(digits)
	if len(text) > maxDigits+len("-0.") {
		return new(big.Float).SetRat(n).Text('g', 17)
	}
	return text
}

// explain returns the faults of a schema.
func explain(doc any, err error) Faults {
	if invalid := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &invalid) {
		if cause := (*jsonschema.ValidationError)(nil); errors.As(invalid.Err, &cause) {
			return keywordFaults(doc, path(invalid.URL), collect(cause))
		}
	}
	fault := func(at []string, text string) Faults { return Faults{{at, Other(text)}} }
	if id := (*jsonschema.DuplicateIDError)(nil); errors.As(err, &id) {
		return fault(path("#"+max(id.Ptr1, id.Ptr2)), "duplicate $id "+quote(strings.TrimPrefix(id.ID, address)))
	}
	if anchor := (*jsonschema.DuplicateAnchorError)(nil); errors.As(err, &anchor) {
		return fault(path("#"+max(anchor.Ptr1, anchor.Ptr2)), "duplicate anchor "+quote(anchor.Anchor))
	}
	if load := (*jsonschema.LoadURLError)(nil); errors.As(err, &load) {
		at, text := find(doc, load.URL, "$ref", "$dynamicRef", "$recursiveRef", "$schema")
		if slices.Contains(at, "$schema") {
			return fault(at, "draft "+quote(text)+" is not supported")
		}
		return fault(at, "reference to another document, "+quote(text)+": nothing is read from elsewhere")
	}
	target := ""
	if pointer := (*jsonschema.JSONPointerNotFoundError)(nil); errors.As(err, &pointer) {
		target = pointer.URL
	}
	if anchor := (*jsonschema.AnchorNotFoundError)(nil); errors.As(err, &anchor) {
		target = anchor.Reference
	}
	if target != "" {
		at, text := find(doc, target, "$ref", "$dynamicRef", "$recursiveRef")
		return fault(at, quote(text)+" not found")
	}
	return fault(nil, brief(strings.ReplaceAll(err.Error(), address, "")))
}

// find returns the location and the text of the first keyword that refers to a URL. Of a URL with a
// fragment the base may be another one.
func find(doc any, target string, keywords ...string) (at []string, text string) {
	base, fragment := split(target)
	for at, obj := range each(doc) {
		for _, keyword := range keywords {
			text, _ := obj[keyword].(string)
			to, in := split(text)
			switch {
			case text == "":
			case fragment != "" && in == fragment, fragment == "" && (to == base || address+to == base || to != "" && strings.HasSuffix(base, "/"+to)):
				return append(slices.Clone(at), keyword), text
			}
		}
	}
	return nil, strings.TrimPrefix(target, address)
}

func split(reference string) (base, fragment string) {
	base, fragment, _ = strings.Cut(reference, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	return base, fragment
}

// path returns the keys and indexes of a URL with a JSON pointer.
func path(location string) []string {
	_, fragment := split(location)
	var all []string
	for key := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment != "" {
			all = append(all, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
	}
	return all
}

// pointer returns the JSON pointer of a location, as a fragment of a URL.
func pointer(at []string) string {
	var b strings.Builder
	for _, key := range at {
		b.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key)))
	}
	return b.String()
}

// keywordFaults makes the faults that the library found in a subschema those of the schema.
func keywordFaults(doc any, in []string, faults Faults) Faults {
	for i, f := range faults {
		f.At = slices.Concat(in, f.At)
		switch k := f.Kind.(type) {
		case *invalidName: // the library's location of it may be that of another one
			for at, obj := range each(doc) {
				if _, ok := obj[k.name]; ok && len(at) > 0 && at[len(at)-1] == "patternProperties" {
					f = Fault{append(slices.Clone(at), k.name), Other(k.why)}
					break
				}
			}
		case Other:
			if len(f.At) > 0 && f.At[len(f.At)-1] == "$id" && strings.Contains(string(k), "[^#]") {
				f.Kind = Other("must not have a fragment")
			}
		}
		faults[i] = f
	}
	return typeFaults(faults)
}

// typeFaults replaces the faults of a keyword "type": it is one text of several, or a list of them,
// and the library reports what is wrong with both.
func typeFaults(all Faults) Faults {
	got := map[string]string{} // by location
	for _, f := range all {
		if k, ok := f.Kind.(*Type); ok && len(f.At) > 0 && f.At[len(f.At)-1] == "type" {
			got[pointer(f.At)] = k.Got
		}
	}
	var left Faults
	for _, f := range all {
		what := got[pointer(f.At)]
		switch k := f.Kind.(type) {
		case *Type:
			if what == "string" {
				continue
			}
			if what != "" {
				f.Kind = &Type{k.Got, []string{"string", "array"}}
			}
		case *Enum:
			if _, text := k.Got.(string); !text {
				continue
			}
		}
		left = append(left, f)
	}
	if len(left) == 0 {
		return all
	}
	return left
}
