package tasks

import (
	"cmp"
	"math"
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

// sampled adds the keys of a sampling to those of a mapping.
func (f fields) sampled(s *Sampling) fields {
	f["effort"] = into(&s.Effort, word("minimal", "low", "medium", "high"))
	f["temperature"] = into(&s.Temperature, readTemperature)
	f["max_output"] = into(&s.MaxOutput, number(math.MaxInt))
	return f
}

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
