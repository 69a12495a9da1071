package manifest

import (
	"strconv"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

var (
	effortForm      = form.Enum("none", "minimal", "low", "medium", "high", "xhigh", "max")
	temperatureForm = form.Of[*float64]{Type: form.Type{Name: "number"}, Read: readTemperature}
)

const maxTemperature = 2

func readTemperature(v form.Value) (*float64, bool) {
	tag := v.Node.ShortTag()
	t, err := strconv.ParseFloat(strings.ReplaceAll(v.Node.Value, "_", ""), 64)
	if !v.IsScalar() || tag != "!!int" && tag != "!!float" || err != nil || !(t >= 0 && t <= maxTemperature) {
		v.Wrong("a number from 0 to 2", "write for example 0.2")
		return nil, false
	}
	return &t, true
}

func samplingKeys(s *tasks.Sampling) form.Table {
	return form.Table{
		{Name: "effort", Field: form.Into(&s.Effort, effortForm), Doc: "Reasoning effort (the provider's default if absent)"},
		{Name: "temperature", Field: form.Into(&s.Temperature, temperatureForm), Doc: "Sampling temperature from 0 to 2 (the provider's default if absent)"},
		{Name: "max_output", Field: form.Into(&s.MaxOutput, form.Positive()), Doc: "Output tokens of a response (the provider's default if absent)"},
	}
}
