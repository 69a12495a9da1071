package prices

import (
	"regexp"
	"strings"
	"sync"
)

type surcharge struct {
	term    string
	model   *regexp.Regexp // matches the start of its name in the table
	percent int64
}

// surcharges are the prices of service terms in percent of the standard price, as the
// providers publish them (2026-11). The first row that matches counts.
var surcharges = sync.OnceValue(func() []surcharge {
	return []surcharge{
		{"flex", regexp.MustCompile(``), 50},
		{"batch", regexp.MustCompile(``), 50},
		// https://openai.com/api-priority-processing. Unknown models get the highest one.
		{"priority", regexp.MustCompile(`^openai/gpt-4\.1-nano`), 200},
		{"priority", regexp.MustCompile(`^openai/(gpt-4\.1|o3)`), 175},
		{"priority", regexp.MustCompile(`^openai/o4-mini`), 182},
		{"priority", regexp.MustCompile(`^openai/gpt-4o`), 170},
		{"priority", regexp.MustCompile(`^openai/gpt-5-mini`), 180},
		{"priority", regexp.MustCompile(`^openai/gpt-5([^.]|\.[1-4]|$)`), 200},
		{"priority", regexp.MustCompile(`^openai/gpt-(5\.6-(terra|luna)|6)`), 200},
		{"priority", regexp.MustCompile(``), 250},
		// https://platform.claude.com/docs/en/build-with-claude/fast-mode
		{"fast", regexp.MustCompile(`^anthropic/claude-opus-4-[67]`), 600},
		{"fast", regexp.MustCompile(`^anthropic/`), 200},
		{"fast", regexp.MustCompile(``), 250},
		{"us", regexp.MustCompile(`^anthropic/`), 110},  // requests that are only processed in the US
		{Regional, regexp.MustCompile(`^openai/`), 110}, // https://platform.openai.com/docs/guides/your-data
		// https://platform.claude.com/docs/en/about-claude/pricing: since Claude 4.5.
		{Regional, regexp.MustCompile(`^(bedrock|vertex)/.*claude-([23]\b|instant|(opus|sonnet)-4([@-][01]\b|[@-]20|$))`), 100},
		{Regional, regexp.MustCompile(`^(bedrock|vertex)/.*claude`), 110},
	}
})

// Regional is the term of requests to a host that processes them in one region.
const Regional = "regional"

// Percent returns what a request to a model costs under the terms of its usage, in
// percent of the standard price.
func Percent(model, terms string) int64 {
	product := int64(100)
	for term := range strings.FieldsSeq(terms) {
		if term == "fast" && strings.HasPrefix(model, "openai/") {
			term = "priority" // its name in newer responses
		}
		for _, s := range surcharges() {
			if s.term == term && s.model.MatchString(model) {
				product = (product*s.percent + 99) / 100
				break
			}
		}
	}
	return product
}
