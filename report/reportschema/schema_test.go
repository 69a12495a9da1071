package reportschema_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/report/reportschema"
)

var update = flag.Bool("update", false, "regenerate report.schema.json")

// TestTheSchemaFileIsMadeOfTheTypes compares report.schema.json with what is made from the types.
func TestTheSchemaFileIsMadeOfTheTypes(t *testing.T) {
	if *update {
		if err := os.WriteFile("../report.schema.json", reportschema.Schema(), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("../report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(reportschema.Schema()), string(got)); diff != "" {
		t.Errorf("report.schema.json differs; run make golden:\n%s", diff)
	}
}

// TestDescriptionsAreUsed fails for a description of a field that no type has any more.
func TestDescriptionsAreUsed(t *testing.T) {
	text, err := os.ReadFile("fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(reportschema.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	addDescribed(described, "report", schema)
	for name, def := range schema["$defs"].(map[string]any) {
		addDescribed(described, name, def.(map[string]any))
	}
	for line := range strings.Lines(string(text)) {
		if path, _, _ := strings.Cut(strings.TrimSpace(line), ": "); path != "" && !described[path] {
			t.Errorf("fields.txt describes %s, which the schema lacks", path)
		}
	}
}

// addDescribed adds the paths of a definition and its fields that have a description.
func addDescribed(all map[string]bool, path string, def map[string]any) {
	all[path] = all[path] || def["description"] != nil
	if items, ok := def["items"].(map[string]any); ok {
		addDescribed(all, path, items)
	}
	properties, _ := def["properties"].(map[string]any)
	for name, field := range properties {
		addDescribed(all, path+"."+name, field.(map[string]any))
	}
}

func TestSchemaDescribesEveryField(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(reportschema.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	optional := map[string][]string{
		"run":           {"rollout"},
		"job":           {"script"},
		"sandbox":       {"reason"},
		"baseline":      {"timeout_ms", "output_path"},
		"verify":        {"timeout_ms", "output_path"},
		"call":          {"extension", "input_given", "metadata"},
		"call_metadata": {"exit_code", "added", "removed", "matcher", "output_path", "http_status", "child_session", "child_cost_usd", "loaded", "custom", "custom_omitted"},
	}
	objects := map[string]any{"report": schema}
	maps.Copy(objects, schema["$defs"].(map[string]any))
	for name, def := range objects {
		object := def.(map[string]any)
		if object["type"] != "object" {
			continue // a type that several fields share
		}
		if object["additionalProperties"] != false {
			t.Errorf("%s takes properties that the schema does not list", name)
		}
		properties := object["properties"].(map[string]any)
		required := optional[name]
		list, _ := object["required"].([]any)
		for _, field := range list {
			required = append(required, field.(string))
		}
		slices.Sort(required)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(properties)), required); diff != "" {
			t.Errorf("%s: fields (-listed +required):\n%s", name, diff)
		}
		for field, def := range properties {
			checkField(t, name+"."+field, def.(map[string]any))
		}
	}
}

func checkField(t *testing.T, name string, def map[string]any) {
	t.Helper()
	ref, shared := def["$ref"].(string)
	if def["type"] == nil && def["anyOf"] == nil && !shared {
		t.Errorf("%s has no type", name)
	}
	if def["description"] == nil && !strings.HasPrefix(ref, "#/$defs/") {
		t.Errorf("%s has no description", name)
	}
	if def["type"] == "array" && def["items"] == nil {
		t.Errorf("%s does not say what it holds", name)
	}
}
