package tasks

import (
	"cmp"
	"strconv"
	"strings"
)

// Over returns s with the gaps filled from base.
func (s Sampling) Over(base Sampling) Sampling {
	return Sampling{
		Effort:      cmp.Or(s.Effort, base.Effort),
		Temperature: cmp.Or(s.Temperature, base.Temperature),
		MaxOutput:   cmp.Or(s.MaxOutput, base.MaxOutput),
	}
}

var (
	effortForm      = enum("none", "minimal", "low", "medium", "high", "xhigh", "max")
	temperatureForm = form[*float64]{Type{Name: "number"}, readTemperature}
)

const maxTemperature = 2

func readTemperature(v value) (*float64, bool) {
	tag := v.node.ShortTag()
	t, err := strconv.ParseFloat(strings.ReplaceAll(v.node.Value, "_", ""), 64)
	if !v.isScalar() || tag != "!!int" && tag != "!!float" || err != nil || !(t >= 0 && t <= maxTemperature) {
		v.wrong("a number from 0 to 2", "write for example 0.2")
		return nil, false
	}
	return &t, true
}

func (s *Sampling) keys() keys {
	return keys{
		{"effort", into(&s.Effort, effortForm), "", "Reasoning effort (the provider's default if absent)"},
		{"temperature", into(&s.Temperature, temperatureForm), "", "Sampling temperature from 0 to 2 (the provider's default if absent)"},
		{"max_output", into(&s.MaxOutput, positive()), "", "Output tokens of a response (the provider's default if absent)"},
	}
}
