package manifest

import (
	"math"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

var versionForm = form.Of[int]{Type: form.Type{Name: "integer", Min: 1, Max: 1}, Read: readVersion}

// readVersion accepts the only version of the format.
func readVersion(v form.Value) (int, bool) {
	isInt := v.IsScalar() && v.Node.ShortTag() == "!!int"
	supported := isInt && v.Node.Value == "1"
	switch {
	case supported:
	case isInt:
		v.Problem("version "+v.Node.Value+" is not supported", "write version: 1")
	default:
		v.Wrong("the number 1", "write version: 1")
	}
	return 1, supported
}

var varsForm = form.MapOf("NAME", form.ScalarType(), readVars)

// readVars reads variables. They may be numbers and booleans too, and are texts
// spelt as in the file.
func readVars(v form.Value) (map[string]string, bool) {
	vars := map[string]string{}
	entries, ok := v.Entries()
	for _, e := range entries {
		if t, ok := e.Scalar(); ok && e.Named() {
			vars[e.Key.Value] = t.S
		}
	}
	return vars, ok
}

func limitKeys(l *tasks.Limits) form.Table {
	return form.Table{
		{Name: "turns", Field: form.Into(&l.Turns, form.Positive()), Def: "100", Doc: "Model requests of a job"},
		{Name: "cost", Field: form.Into(&l.CostUSD, form.Cost), Doc: "Cost of a job in USD"},
		{Name: "time", Field: form.Into(&l.Time, form.Duration), Def: "1h", Doc: "Duration of a job"},
		{Name: "tokens", Field: form.Into(&l.Tokens, form.Tokens), Doc: "Input and output tokens of a job"},
		{Name: "denials", Field: form.Into(&l.Denials, form.Positive()), Def: "50", Doc: "Denied tool calls of a job"},
		{Name: "failures", Field: form.Into(&l.Failures, form.Positive()), Def: "50", Doc: "Failed tool calls of a job"},
		{Name: "disk", Field: form.Into(&l.Disk, form.Bytes), Def: "8GB", Doc: "Growth of the workspace and the private directories of a job"},
		{Name: "memory", Field: form.Into(&l.Memory, form.Bytes), Doc: "Memory of the commands of a job"},
		{Name: "processes", Field: form.Into(&l.Processes, form.Between(leastProcesses, math.MaxInt32)), Def: "4096", Doc: "Processes and threads of the commands of a job"},
	}
}

func budgetKeys(b *tasks.Budget) form.Table {
	return form.Table{
		{Name: "cost", Field: form.Into(&b.CostUSD, form.Cost), Doc: "Cost of the run in USD"},
		{Name: "time", Field: form.Into(&b.Time, form.Duration), Doc: "Duration of the run"},
	}
}

// leastProcesses is what one command in the sandbox needs.
const leastProcesses = 16
