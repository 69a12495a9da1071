package arguments

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// every has an argument of every kind.
type every struct {
	Name  string   `json:"name" jsonschema:"a text"`
	Count int      `json:"count,omitempty" jsonschema:"a number"`
	Share *float64 `json:"share,omitempty"`
	Exact bool     `json:"exact,omitempty"`
	Many  []string `json:"many,omitempty"`
	Color string   `json:"color,omitempty" enum:"red,green"`
	Other Any      `json:"other,omitzero"`
	Parts []struct {
		Size int `json:"size"`
	} `json:"parts,omitempty"`
}

// nested has arguments of another struct.
type nested struct {
	Every every `json:"every"`
	Any   Any   `json:"any"`
}

// The schemas are those that a general library infers, without unions with null.
func TestSchemasAreThoseOfALibrary(t *testing.T) {
	types := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Any](): {Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{}},
	}}
	for _, of := range []reflect.Type{reflect.TypeFor[every](), reflect.TypeFor[nested]()} {
		inferred, err := jsonschema.ForType(of, types)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := schemaOf(of)
		if err != nil {
			t.Fatal(err)
		}
		want := plain(t, inferred)
		withoutNull(want)
		got := plain(t, ours)
		withoutEnum(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v, should be\n%v", of, got, want)
		}
	}
}

func plain(t *testing.T, v any) (m any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func withoutNull(v any) {
	switch v := v.(type) {
	case map[string]any:
		if types, ok := v["type"].([]any); ok {
			types = slices.DeleteFunc(types, func(t any) bool { return t == "null" })
			if len(types) == 1 {
				v["type"] = types[0]
			}
		}
		for sub := range maps.Values(v) {
			withoutNull(sub)
		}
	case []any:
		for _, sub := range v {
			withoutNull(sub)
		}
	}
}

// withoutEnum removes the values of enum tags, which the library does not know.
func withoutEnum(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "enum")
		for sub := range maps.Values(v) {
			withoutEnum(sub)
		}
	case []any:
		for _, sub := range v {
			withoutEnum(sub)
		}
	}
}
