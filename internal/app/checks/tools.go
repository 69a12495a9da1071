package checks

import (
	"encoding/json"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"
)

// CustomTools returns the tools that manifests define.
func CustomTools(plan *tasks.Plan) ([]tools.Tool, error) {
	var list []tools.Tool
	for _, t := range plan.Tools {
		schema, err := json.Marshal(t.Schema)
		if err != nil {
			return nil, fault.New(event.ExitUsage, "encode the schema of the tool %s: %w", t.Name, err)
		}
		tool, err := tools.NewCustom(command.Custom{
			Name: t.Name, Description: t.Description, Command: t.Command, Schema: schema, Timeout: t.Time, ReadOnly: t.ReadOnly, Writes: t.Workspace,
		})
		if err != nil {
			return nil, fault.Wrap(event.ExitUsage, err)
		}
		list = append(list, tool)
	}
	return list, nil
}
