package prices

import (
	"strings"

	"github.com/millhand/millhand/internal/lazyregexp"
)

// surcharges are the prices of service terms in percent of the standard price, as the
// providers publish them (2026-11). The first row that matches counts.
var surcharges = []struct {
	term    string
	model   *lazyregexp.Regexp // matches the start of its name in the table
	percent int64
}{
	{"flex", lazyregexp.New(``), 50},
	{"batch", lazyregexp.New(``), 50},
	// https://openai.com/api-priority-processing. Unknown models get the highest one.
	{"priority", lazyregexp.New(`^openai/gpt-4\.1-nano`), 200},
	{"priority", lazyregexp.New(`^openai/(gpt-4\.1|o3)`), 175},
	{"priority", lazyregexp.New(`^openai/o4-mini`), 182},
	{"priority", lazyregexp.New(`^openai/gpt-4o`), 170},
	{"priority", lazyregexp.New(`^openai/gpt-5-mini`), 180},
	{"priority", lazyregexp.New(`^openai/gpt-5([^.]|\.[1-4]|$)`), 200},
	{"priority", lazyregexp.New(`^openai/gpt-(5\.6-(terra|luna)|6)`), 200},
	{"priority", lazyregexp.New(``), 250},
	// https://platform.claude.com/docs/en/build-with-claude/fast-mode
	{"fast", lazyregexp.New(`^anthropic/claude-opus-4-[67]`), 600},
	{"fast", lazyregexp.New(`^anthropic/`), 200},
	{"fast", lazyregexp.New(``), 250},
	{"us", lazyregexp.New(`^anthropic/`), 110},  // requests that are only processed in the US
	{Regional, lazyregexp.New(`^openai/`), 110}, // https://platform.openai.com/docs/guides/your-data
}

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
		for _, s := range surcharges {
			if s.term == term && s.model.MatchString(model) {
				product = (product*s.percent + 99) / 100
				break
			}
		}
	}
	return product
}
