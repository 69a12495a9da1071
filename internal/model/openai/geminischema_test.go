package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decoded(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestGeminiSchema(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"what it knows stays", `{"type":"object","description":"d","properties":{"a":{"type":"integer","minimum":1,"maximum":3}},"required":["a"]}`, `{"type":"object","description":"d","properties":{"a":{"type":"integer","minimum":1,"maximum":3}},"required":["a"]}`},
		{"unknown keywords go", `{"$schema":"x","$id":"y","type":"object","additionalProperties":false,"patternProperties":{},"propertyNames":{},"default":{},"examples":[1],"if":{},"unevaluatedProperties":false}`, `{"type":"object"}`},
		{"keywords are no names of properties", `{"type":"object","properties":{"const":{"type":"string"},"default":{"type":"string"}}}`, `{"type":"object","properties":{"const":{"type":"string"},"default":{"type":"string"}}}`},
		{"a constant is an enumeration", `{"const":"x"}`, `{"type":"string","enum":["x"]}`},
		{"enumerations are of texts", `{"type":"integer","enum":[1,2,null]}`, `{"type":"string","enum":["1","2"],"nullable":true}`},
		{"one of is any of", `{"oneOf":[{"type":"string"},{"type":"integer"}],"description":"gone"}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"any of with null is nullable", `{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}`, `{"type":"string","nullable":true,"description":"d"}`},
		{"all of is one", `{"allOf":[{"type":"object"},{"properties":{"a":{"type":"string"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"exclusive bounds are bounds", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":9,"multipleOf":3}`, `{"type":"number","minimum":0,"maximum":9}`},
		{"the tighter of two bounds", `{"type":"number","minimum":5,"exclusiveMinimum":0,"maximum":7,"exclusiveMaximum":9}`, `{"type":"number","minimum":5,"maximum":7}`},
		{"exclusive bounds of older drafts", `{"type":"number","minimum":5,"exclusiveMinimum":true}`, `{"type":"number","minimum":5}`},
		{"a list of types", `{"type":["null","integer"]}`, `{"type":"integer","nullable":true}`},
		{"formats", `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","format":"date-time"}}}`},
		{"required properties that are not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"nothing but what is not there", `{"type":"object","properties":{"a":{}},"required":["b",3]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"a list of nothing", `{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`},
		{"types that are to be guessed", `{"properties":{"a":{"items":{"properties":{}}}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{}}}}}`},
		{"properties of what has none", `{"type":"string","properties":{"a":{}},"required":["a"],"items":{}}`, `{"type":"string"}`},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string","const":1}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["1"]}}}`},
		{"references to nothing", `{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"references to itself end", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object"}}}}}}}}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema := decoded(t, test.schema)
			got, err := json.Marshal(GeminiSchema(schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, test.want), decoded(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, test.schema), schema); diff != "" {
				t.Errorf("the schema itself has changed:\n%s", diff)
			}
		})
	}
}

// FuzzGeminiSchema maps any schema: what comes out holds no keyword that is
// refused.
func FuzzGeminiSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"allOf":[{"oneOf":[{},{"const":1}]}]}`,
		`{"type":["null"],"enum":[null],"items":{"enum":{}}}`, `{"$ref":"#/a/b"}`, `{"anyOf":[]}`, `{"anyOf":[3,{"type":"null"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var schema map[string]any
		if json.Unmarshal(data, &schema) != nil || len(data) > 1000 {
			return
		}
		checkGemini(t, GeminiSchema(schema))
	})
}

func checkGemini(t *testing.T, schema map[string]any) {
	t.Helper()
	for name, value := range schema {
		switch {
		case name == "properties":
			properties, _ := value.(map[string]any)
			for _, p := range properties {
				s, ok := p.(map[string]any)
				if !ok {
					t.Fatalf("a property is %v", p)
				}
				checkGemini(t, s)
			}
		case name == "items":
			checkGemini(t, value.(map[string]any))
		case name == "$ref", name == "const", name == "additionalProperties", name == "oneOf", name == "allOf":
			t.Errorf("%s is left in %v", name, schema)
		}
	}
}
