package openai

import (
	"cmp"
	"encoding/json"

	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/money"
)

// chatUsage is the usage that a chunk reports, in the spellings of all providers.
type chatUsage struct {
	PromptTokens        wire.Int `json:"prompt_tokens"`
	CompletionTokens    wire.Int `json:"completion_tokens"`
	TotalTokens         wire.Int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens     wire.Int `json:"cached_tokens"`
		CacheWriteTokens wire.Int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens wire.Int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHitTokens     wire.Int        `json:"prompt_cache_hit_tokens"`
	CacheReadInputTokens     wire.Int        `json:"cache_read_input_tokens"`
	CacheCreationInputTokens wire.Int        `json:"cache_creation_input_tokens"`
	Cost                     json.RawMessage `json:"cost"`
	IsBYOK                   json.RawMessage `json:"is_byok"`
	CostDetails              struct {
		Upstream json.RawMessage `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// counted returns the usage and cost that a chunk reports, nil for what it does not.
// No request has zero tokens of input: a report of only zeros counts as missing, so
// that it does not become a cost of 0.
//
// OpenAI's prompt_tokens include cached ones and its completion_tokens include
// reasoning. Servers that count otherwise are found out by their total.
func (u chatUsage) counted() (usage *money.Usage, costUSD *money.USD) {
	if !u.PromptTokens.Valid {
		return nil, nil
	}
	got := money.Usage{
		Input:      u.PromptTokens.N,
		Output:     u.CompletionTokens.N,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens.N,
		CacheRead:  cmp.Or(u.PromptTokensDetails.CachedTokens.N, u.PromptCacheHitTokens.N, u.CacheReadInputTokens.N),
		CacheWrite: cmp.Or(u.PromptTokensDetails.CacheWriteTokens.N, u.CacheCreationInputTokens.N),
	}
	if !wire.Plausible(got) {
		return nil, nil
	}
	got = inclusive(got, u.TotalTokens.N)
	if got.Output == 0 && !u.CompletionTokens.Valid {
		return nil, nil // not reported, which is not the same as nothing
	}
	return &got, u.cost()
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

// cost is what OpenRouter charged. With a key of the user's own ("byok") it is a fee, and the
// provider charges the rest.
func (u chatUsage) cost() *money.USD {
	usd := amount(u.Cost)
	if string(u.IsBYOK) != "true" || usd == nil {
		return usd
	}
	return money.Sum(usd, amount(u.CostDetails.Upstream))
}

// amount returns a reported amount, nil for none.
func amount(text json.RawMessage) *money.USD {
	var usd *money.USD
	if json.Unmarshal(text, &usd) != nil || usd == nil || *usd < 0 {
		return nil
	}
	return usd
}
