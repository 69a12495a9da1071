package provider

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/model/openai"
)

// levels returns an effort of which each of none, minimal, low, medium, high, xhigh and max
// is sent as the value at its position.
func levels(form openai.EffortForm, list string) openai.Effort {
	e := openai.Effort{Form: form}
	copy(e.Values[:], strings.Fields(list))
	return e
}

// The efforts of models, by the values that they accept: others are sent as the nearest one.
var (
	lowToHigh     = levels(openai.EffortField, "low low low medium high high high")
	lowToXHigh    = levels(openai.EffortField, "low low low medium high xhigh xhigh")
	noneToHigh    = levels(openai.EffortField, "none low low medium high high high")
	noneToXHigh   = levels(openai.EffortField, "none low low medium high xhigh xhigh")
	noneToMax     = levels(openai.EffortField, "none low low medium high xhigh max")
	minimalToHigh = levels(openai.EffortField, "minimal minimal low medium high high high")
	noneOrHigh    = levels(openai.EffortField, "none none none high high high high")
	lowOrHigh     = levels(openai.EffortField, "low low low low high high high")
	routed        = levels(openai.EffortNested, "none minimal low medium high xhigh xhigh")
	deepThought   = levels(openai.EffortThinking, "none low low high high max max")
)

type reasoner struct {
	models *regexp.Regexp
	effort openai.Effort
}

// reasoners are the efforts of OpenAI's models that reason, by their names; the first that
// fits counts.
var reasoners = sync.OnceValue(func() []reasoner {
	return []reasoner{
		{regexp.MustCompile(`^(openai/)?gpt-5(-mini|-nano)?(-\d{4}|$)`), minimalToHigh},
		{regexp.MustCompile(`^(openai/)?gpt-5\.(1-codex-max|[2-5]-(codex|pro))`), lowToXHigh},
		{regexp.MustCompile(`^(openai/)?(o\d|codex|gpt-5-|gpt-5\.1-codex)`), lowToHigh},
		{regexp.MustCompile(`^(openai/)?gpt-5\.1`), noneToHigh},
		{regexp.MustCompile(`^(openai/)?gpt-5\.[2-5]`), noneToXHigh},
		{regexp.MustCompile(``), noneToMax},
	}
})

// effortOf is the effort of one of OpenAI's models that reason.
func effortOf(model string) openai.Effort {
	for _, r := range reasoners() {
		if r.models.MatchString(model) {
			return r.effort
		}
	}
	return openai.Effort{} // unreachable: the last matches all
}

// SentEffort returns what is sent to the model of c for an effort, "" for nothing.
func SentEffort(c Config, effort string) string {
	kind, ok := Lookup(c.Kind)
	if !ok {
		return ""
	}
	speaks, d := kind.protocol(c, kind.base(cmp.Or(c.BaseURL, kind.BaseURL)))
	if speaks == messages {
		return c.claude().Effort(effort)
	}
	return d.Effort.Value(effort)
}

// SendsTemperature reports whether the model of c is sent a temperature.
func SendsTemperature(c Config) bool {
	kind, ok := Lookup(c.Kind)
	if !ok {
		return false
	}
	switch speaks, d := kind.protocol(c, kind.base(cmp.Or(c.BaseURL, kind.BaseURL))); speaks {
	case messages:
		return c.claude().Temperature
	case responses:
		return false
	default:
		return d.Temperature
	}
}
