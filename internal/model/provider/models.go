package provider

import (
	"regexp"
	"sync"

	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/openai"
)

// reasons matches OpenAI's models that reason, by any of the names under which
// they are found.
var reasons = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(openai/)?(o[1-9]|gpt-([5-9]|[1-9]\d)|codex)`) })

// chatty matches those of the same names that don't.
var chatty = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-chat\b`) })

// thinks reports whether a model is one of OpenAI's that reason.
func thinks(model string) bool { return reasons().MatchString(model) && !chatty().MatchString(model) }

// gemini3 matches Gemini 3 and later, also by names that follow the latest version.
var gemini3 = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(models/|google/)?gemini-([3-9]|[1-9]\d|.*latest$)`)
})

// refinement is how a kind's dialect differs for models of certain names.
type refinement struct {
	kind   string
	models *regexp.Regexp
	refine func(d *openai.Dialect)
}

// refinements are applied in order, each that fits.
var refinements = sync.OnceValue(func() []refinement {
	return []refinement{
		// OpenAI rejects an effort for models without reasoning.
		{"openai", regexp.MustCompile(`^(gpt-[34]|chatgpt)`), func(d *openai.Dialect) { d.Effort = openai.Effort{} }},
		{"google", regexp.MustCompile(`^(models/)?(gemini-[12]\.[0-4]|gemma)`), func(d *openai.Dialect) { d.Effort = openai.Effort{} }},
		{"openrouter", regexp.MustCompile(`^anthropic/`), func(d *openai.Dialect) { d.CacheMarks = true }},
		{"openrouter", regexp.MustCompile(`^google/`), func(d *openai.Dialect) { d.Schema = openai.GeminiSchema }},
		{"google", regexp.MustCompile(`^(models/)?gemini-2\.5-flash`), func(d *openai.Dialect) { d.Effort = noneToHigh }},
		{"google", regexp.MustCompile(`^(models/)?gemini-3(\.[0-5])?-flash`), func(d *openai.Dialect) { d.Effort = minimalToHigh }},
		// From version 3.6 on, a temperature is deprecated.
		{"google", regexp.MustCompile(`^(models/)?gemini-(3\.([6-9]|\d\d)|[4-9]|[1-9]\d|.*latest$)`), func(d *openai.Dialect) { d.Temperature = false }},
		{"google", gemini3(), func(d *openai.Dialect) { d.Signed = true }},
		{"openrouter", gemini3(), func(d *openai.Dialect) { d.Signed = true }},
		{"openrouter", regexp.MustCompile(`^mistralai/`), func(d *openai.Dialect) { d.ShortIDs, d.Bridge, d.Alternate = true, true, true }},
		// Of Mistral's models, these accept an effort, with the values none and high.
		{"mistral", regexp.MustCompile(`^mistral-(small-(latest|26|4)|medium-(latest|3-5))`), func(d *openai.Dialect) { d.Effort = noneOrHigh }},
		{"together", regexp.MustCompile(`gpt-oss`), func(d *openai.Dialect) { d.Effort = lowToHigh }},
		{"cerebras", regexp.MustCompile(`gpt-oss`), func(d *openai.Dialect) { d.Effort = lowToHigh }},
		{"groq", regexp.MustCompile(`gpt-oss`), func(d *openai.Dialect) { d.Effort = lowToHigh }},
		{"groq", regexp.MustCompile(`llama-4`), func(d *openai.Dialect) { d.Images = true }},
		// Of xAI's models, only these accept an effort, though most reason.
		{"xai", regexp.MustCompile(`^grok-3-mini`), func(d *openai.Dialect) { d.Effort = lowOrHigh }},
		{"xai", regexp.MustCompile(`^grok-4\.[3-9]|multi-agent`), func(d *openai.Dialect) { d.Effort = lowToHigh }},
	}
})

// dialectOf returns a dialect of the kind for a model. OpenAI's models with reasoning
// accept no temperature, whoever serves them.
func (k Kind) dialectOf(d openai.Dialect, model string) openai.Dialect {
	for _, r := range refinements() {
		if r.kind == k.Name && r.models.MatchString(model) {
			r.refine(&d)
		}
	}
	if thinks(model) {
		d.Temperature = false
		if k.Deployed {
			d.Effort = effortOf(model)
		}
	}
	return d
}

// claude is what models of Anthropic can do, by their names.
type claude struct {
	models  *regexp.Regexp
	dialect anthropic.Dialect
}

// claudes are looked through in order; the first that fits counts. The last is
// for models that are yet to come.
var claudes = sync.OnceValue(func() []claude {
	return []claude{
		{regexp.MustCompile(`claude-(2|instant|3-(opus|sonnet|haiku))`), anthropic.Dialect{MaxOutput: 4096, Temperature: true}},
		{regexp.MustCompile(`claude-3-5`), anthropic.Dialect{MaxOutput: 8192, Temperature: true}},
		{regexp.MustCompile(`claude-3-7`), anthropic.Dialect{MaxOutput: 64_000, Thinking: anthropic.ThinkingBudget, Temperature: true}},
		{regexp.MustCompile(`claude-opus-4-1`), anthropic.Dialect{MaxOutput: 32_000, Thinking: anthropic.ThinkingBudget, Temperature: true, Output: true}},
		{regexp.MustCompile(`claude-(opus|sonnet|haiku)-4-5`), anthropic.Dialect{MaxOutput: 64_000, Thinking: anthropic.ThinkingBudget, Temperature: true, Output: true}},
		{regexp.MustCompile(`claude-(opus|sonnet|haiku)-4-6`), anthropic.Dialect{MaxOutput: 64_000, Thinking: anthropic.ThinkingAdaptive, Temperature: true, Output: true}},
		{regexp.MustCompile(`claude-(opus|sonnet)-4(-0|-20|@|$)`), anthropic.Dialect{MaxOutput: 32_000, Thinking: anthropic.ThinkingBudget, Temperature: true}},
		{regexp.MustCompile(``), anthropic.Dialect{MaxOutput: 64_000, Thinking: anthropic.ThinkingAdaptive, XHigh: true, Output: true}},
	}
})

func claudeOf(model string) anthropic.Dialect {
	for _, c := range claudes() {
		if c.models.MatchString(model) {
			return c.dialect
		}
	}
	return anthropic.Dialect{} // can't be: the last fits everything
}
