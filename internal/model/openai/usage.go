package openai

import (
	"cmp"
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
)

// usageOf returns the usage and cost that a chunk reports, nil for what it does not.
// No request has zero tokens of input: a report of only zeros counts as missing, so
// that it does not become a cost of 0.
//
// OpenAI's prompt_tokens include cached ones and its completion_tokens include
// reasoning. Servers that count otherwise are found out by their total.
func usageOf(u sdk.CompletionUsage) (usage *money.Usage, costUSD *money.USD) {
	input, ok := wire.Count(u.JSON.PromptTokens.Raw())
	output, reported := wire.Count(u.JSON.CompletionTokens.Raw())
	if !ok {
		return nil, nil
	}
	got := money.Usage{
		Input:      input,
		Output:     output,
		Reasoning:  wire.Detail(u.CompletionTokensDetails.JSON.ReasoningTokens.Raw()),
		CacheRead:  firstOf(u.PromptTokensDetails.JSON.CachedTokens, u.JSON.ExtraFields, "prompt_cache_hit_tokens", "cache_read_input_tokens"),
		CacheWrite: firstOf(u.PromptTokensDetails.JSON.CacheWriteTokens, u.JSON.ExtraFields, "cache_creation_input_tokens"),
	}
	if !wire.Plausible(got) {
		return nil, nil
	}
	got = inclusive(got, wire.Detail(u.JSON.TotalTokens.Raw()))
	if got.Output == 0 && !reported {
		return nil, nil // not reported, which is not the same as nothing
	}
	return &got, costOf(u.JSON.ExtraFields)
}

// terms are the names of service tiers that have prices of their own.
func terms(tier string) string {
	switch tier {
	case "flex", "priority", "fast", "batch":
		return tier
	}
	return ""
}

// inclusive adds what a server left out of its input and output counts.
func inclusive(u money.Usage, total int64) money.Usage {
	if total < 0 || total > wire.MaxTokens {
		return u
	}
	cached := u.CacheRead + u.CacheWrite
	missing := total - u.Input - u.Output
	switch {
	case cached > u.Input, missing > 0 && missing == cached:
		u.Input += cached
	case missing > 0 && (u.Reasoning == 0 || u.Reasoning == missing):
		u.Output += missing
		u.Reasoning = missing
	}
	return u
}

// firstOf returns a count, or the first of the fields by which other servers name it.
func firstOf(count respjson.Field, extra map[string]respjson.Field, names ...string) int64 {
	n := wire.Detail(count.Raw())
	for _, name := range names {
		n = cmp.Or(n, wire.Detail(extra[name].Raw())) // absent as a rule
	}
	return n
}

// costOf is what OpenRouter charged. With a key of the user's own ("byok") it is a fee, and the
// provider charges the rest.
func costOf(extra map[string]respjson.Field) *money.USD {
	usd := amount(extra["cost"].Raw())
	if extra["is_byok"].Raw() != "true" || usd == nil {
		return usd
	}
	var details struct {
		Upstream json.RawMessage `json:"upstream_inference_cost"`
	}
	_ = json.Unmarshal([]byte(extra["cost_details"].Raw()), &details) // absent as a rule
	return money.Sum(usd, amount(string(details.Upstream)))
}

// amount returns a reported amount, nil for none.
func amount(text string) *money.USD {
	var usd *money.USD
	if json.Unmarshal([]byte(text), &usd) != nil || usd == nil || *usd < 0 {
		return nil
	}
	return usd
}
