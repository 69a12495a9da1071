package arguments_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"

	"github.com/google/go-cmp/cmp"
)

func TestNamesOfPropertiesFitAllProviders(t *testing.T) {
	long := strings.Repeat("l", 70)
	for _, tt := range []struct{ name, schema, offered, in, want string }{
		{"valid names", `{"properties": {"a.b-c_D9": {"type": "string"}}}`, `{"a.b-c_D9": {"type": "string"}}`, `{"a.b-c_D9": "x"}`, `{"a.b-c_D9":"x"}`},
		{
			"OData", `{"properties": {"$filter": {"type": "string", "description": "Which."}, "a b": {"type": "integer"}}, "required": ["$filter"]}`,
			`{"filter": {"type": "string", "description": "Which. (named \"$filter\" in the tool)"}, "a_b": {"type": "integer", "description": "(named \"a b\" in the tool)"}}`,
			`{"filter": "x", "a_b": "3"}`, `{"$filter":"x","a b":3}`,
		},
		{"own names in the call", `{"properties": {"$top": {}}}`, `{"top": {"description": "(named \"$top\" in the tool)"}}`, `{"$top": 1}`, `{"$top":1}`},
		{
			"collisions", `{"properties": {"a": {}, "$a": {}, "@a": {}, "a_2": {}}}`,
			`{"a": {}, "a_2": {}, "a_3": {"description": "(named \"$a\" in the tool)"}, "a_4": {"description": "(named \"@a\" in the tool)"}}`,
			`{"a": 1, "a_2": 2, "a_3": 3, "a_4": 4}`, `{"$a":3,"@a":4,"a":1,"a_2":2}`,
		},
		{
			"nested and in references", `{"$defs": {"x": {"properties": {"@id": {"type": "integer"}}}}, "properties": {"l": {"type": "array", "items": {"$ref": "#/$defs/x"}}, "$o": {"type": "object", "properties": {"ü": {"$ref": "#/$defs/x"}}}}}`,
			`{"l": {"type": "array", "items": {"properties": {"id": {"type": "integer", "description": "(named \"@id\" in the tool)"}}}},
			  "o": {"type": "object", "description": "(named \"$o\" in the tool)", "properties": {"argument": {"description": "(named \"ü\" in the tool)", "properties": {"id": {"type": "integer", "description": "(named \"@id\" in the tool)"}}}}}}`,
			`{"l": [{"id": "1"}, {"@id": 2}], "o": {"argument": {"id": 3}}}`, `{"$o":{"ü":{"@id":3}},"l":[{"@id":1},{"@id":2}]}`,
		},
		{
			"long and empty", `{"properties": {"` + long + `1": {}, "` + long + `2": {}, "": {}}}`,
			`{"` + long[:60] + `": {"description": "(named \"` + long + `1\" in the tool)"}, "` + long[:57] + `_2": {"description": "(named \"` + long + `2\" in the tool)"}, "argument": {"description": "(named \"\" in the tool)"}}`,
			`{"argument": 0, "` + long[:57] + `_2": 2}`, `{"":0,"` + long + `2":2}`,
		},
		{"patterns", `{"properties": {"a": {}}, "patternProperties": {"^[$]": {"type": "integer"}}}`, `{"a": {}}`, `{"$x": 1}`, `{"$x":1}`},
		{"an alternative at the top", `{"anyOf": [{"properties": {"$a": {}}, "required": ["$a"]}]}`, `{"a": {"description": "(named \"$a\" in the tool)"}}`, `{"a": 1}`, `{"$a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "readonly", nil)
			s.WithExternal(tt.schema, func(arguments string) (tools.ExternalResult, error) {
				return tools.ExternalResult{Text: arguments}, nil
			})
			if out := s.Raw("files_read", tt.in); out.Output != tt.want {
				t.Errorf("the tool gets %s, want %s", out.Text(), tt.want)
			}
			tool := tools.NewExternal(tools.External{Name: "x", Schema: json.RawMessage(tt.schema)})
			var got, want any
			data, err := json.Marshal(tool.Spec().Schema["properties"])
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.offered), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			required, _ := tool.Spec().Schema["required"].([]any)
			for _, name := range required {
				if tool.Spec().Schema["properties"].(map[string]any)[name.(string)] == nil {
					t.Errorf("%s is required, but not offered", name)
				}
			}
		})
	}
}

func TestACustomToolGetsItsOwnNames(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.WithCustom(command.Custom{Command: tooltest.Script("cat"), Schema: json.RawMessage(`{"properties": {"$n": {"type": "integer", "default": 3}, "@who": {"type": "string"}}, "required": ["@who"]}`)})
	if out := s.Raw("deploy", `{"who": "me"}`); out.Output != `{"$n":3,"@who":"me"}` {
		t.Error(out.Text())
	}
	s.Want(s.Raw("deploy", `{}`), tools.Failed, "missing required argument @who")
}
