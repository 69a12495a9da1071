package checks

import (
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

func TestToolsOfManifestsHaveTheirSchemas(t *testing.T) {
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	list, err := CustomTools(&tasks.Plan{Tools: []tasks.CustomTool{{Name: "count", Description: "Counts.", Command: []string{"wc"}, Schema: schema, ReadOnly: true}}})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	if s := list[0].Spec(); s.Name != "count" || !s.ReadOnly || s.Schema["properties"] == nil {
		t.Errorf("%+v", s)
	}
	schema["properties"] = func() {}
	if _, err := CustomTools(&tasks.Plan{Tools: []tasks.CustomTool{{Name: "count", Schema: schema}}}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a schema that is not JSON: %v", err)
	}
	if _, err := CustomTools(&tasks.Plan{Tools: []tasks.CustomTool{{Name: "count", Command: []string{"wc"}}}}); fault.ExitOf(err) != event.ExitUsage || err == nil {
		t.Errorf("a tool without a description: %v", err)
	}
}
