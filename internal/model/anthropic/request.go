package anthropic

import (
	"fmt"
	"maps"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// said encodes the conversation of a request, and its tools. A conversation that grew differs
// from what it was in its end and in the marks only, which the provider does not count as a
// difference.
func (c *client) said(req model.Request) (wire.Conversation, error) {
	plain := wire.LastTurns(req.Messages, group, markedTurns)
	messages, err := c.histories.Append(req.CacheKey, req.Messages[:plain])
	if err != nil {
		return wire.Conversation{}, err
	}
	last, err := c.histories.Rest(req.Messages, plain, c.encodeMarked)
	if err != nil {
		return wire.Conversation{}, err
	}
	tools, err := c.tools(req)
	return wire.Conversation{Name: "messages", Said: [][]byte{messages, last}, Tools: tools}, err
}

// params returns a request without its messages and tools.
func (c *client) params(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: c.model, MaxTokens: int64(c.dialect.MaxOutput)}
	if req.MaxOutput > 0 {
		p.MaxTokens = int64(req.MaxOutput)
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	if req.Effort != "" {
		c.think(&p, req)
	}
	if req.Temperature != nil && c.dialect.Temperature && param.IsOmitted(p.Thinking) {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if req.TopP != nil && c.dialect.Temperature && param.IsOmitted(p.Thinking) {
		p.TopP = param.NewOpt(*req.TopP)
	}
	if req.Output != nil && !c.outputByTool(req) {
		p.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: wire.OutputSchema(req.Output)}
	}
	return p
}

// budgets are the tokens that a model may think for an effort.
var budgets = map[string]int64{"low": 4_000, "medium": 8_000, "high": 16_000, "xhigh": 24_000, "max": 32_000}

const leastBudget = 1024 // which the API accepts

// Effort returns what a model does for an effort: the effort that it is asked for, none for
// no thinking, or "" if it can't think.
func (d Dialect) Effort(effort string) string {
	switch {
	case effort == "none":
	case d.Thinking == ThinkingNone:
		return ""
	case d.Thinking == ThinkingBudget && effort == "minimal":
		return "none"
	case d.Thinking == ThinkingAdaptive && effort == "minimal":
		return "low"
	case d.Thinking == ThinkingAdaptive && effort == "xhigh" && !d.XHigh:
		return "high"
	}
	return effort
}

// think turns thinking on as far as the limit of the output and the conversation
// leave room for it.
func (c *client) think(p *sdk.MessageNewParams, req model.Request) {
	effort := c.dialect.Effort(req.Effort)
	switch c.dialect.Thinking {
	case ThinkingAdaptive:
		if effort == "none" {
			p.Thinking.OfDisabled = new(sdk.NewThinkingConfigDisabledParam())
			return
		}
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
	case ThinkingBudget:
		if budget := min(budgets[effort], p.MaxTokens/2); budget >= leastBudget && c.mayThink(req.Messages) {
			p.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
		}
	case ThinkingNone:
	}
}

// mayThink reports whether thinking may be on: the API refuses it in the middle
// of a turn that did not begin with it, as one does that another model began.
func (c *client) mayThink(all []model.Message) bool {
	began := 0
	for i, m := range all {
		if m.Role == model.User {
			began = i + 1
		}
	}
	i := slices.IndexFunc(all[began:], func(m model.Message) bool { return m.Role == model.Assistant })
	if i < 0 {
		return true
	}
	blocks := c.remembered(all[began+i])
	return len(blocks) > 0 && (blocks[0].OfThinking != nil || blocks[0].OfRedactedThinking != nil)
}

// outputByTool reports whether the response to req is to be the input of a tool.
func (c *client) outputByTool(req model.Request) bool {
	return req.Output != nil && (!c.dialect.Output || !closed(req.Output))
}

// taken are the keywords that the API accepts in the schema of an output.
var taken = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "title", "default"}

// closed reports whether the API would take a schema for that of an output:
// its objects must have no other properties than those that are named.
func closed(schema map[string]any) bool {
	for name, value := range schema {
		if !slices.Contains(taken, name) {
			return false
		}
		var within []any
		switch v := value.(type) {
		case map[string]any:
			switch name {
			case "properties":
				within = slices.Collect(maps.Values(v))
			case "items":
				within = []any{v}
			}
		case []any:
			if name == "anyOf" {
				within = v
			}
		}
		for _, sub := range within {
			if s, ok := sub.(map[string]any); !ok || !closed(s) {
				return false
			}
		}
	}
	return schema["type"] != "object" || schema["additionalProperties"] == false
}

// tools are those that a request offers. The last one ends what is cached of
// them.
func (c *client) tools(req model.Request) ([]byte, error) {
	list, err := c.offers.Of(req.Tools)
	if err != nil {
		return nil, err
	}
	if c.outputByTool(req) {
		last, err := encodeTools([]model.ToolSpec{wire.OutputSpec(req.Output)})
		if err != nil {
			return nil, err
		}
		list = append(list[:len(list):len(list)], last...)
	}
	if len(list) == 0 {
		return nil, nil
	}
	end := len(list) - 1
	return append(list[:end:end], `,"cache_control":{"type":"ephemeral"}}`...), nil
}

func encodeTools(specs []model.ToolSpec) ([]byte, error) {
	var list []byte
	for _, t := range specs {
		tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		var err error
		if list, err = wire.AppendElement(list, tool); err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
		}
	}
	return list, nil
}
