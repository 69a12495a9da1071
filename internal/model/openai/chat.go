package openai

import (
	"context"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Chat returns a model of a Chat Completions server with dialect d.
func Chat(o Options, d Dialect) model.Model {
	line, opts := connect(o, wire.API{KeyHeader: d.KeyHeader})
	c := &chat{line: line, service: sdk.NewChatCompletionService(opts...), model: o.Model, dialect: d, state: "chat/" + o.Model}
	c.histories.Group, c.histories.Encode = c.group, c.encode
	c.offers.Encode = c.encodeTools
	return c
}

type chat struct {
	line      *wire.Endpoint
	service   sdk.ChatCompletionService
	model     string
	dialect   Dialect
	state     string // the API of this client's states
	histories wire.Histories
	offers    wire.Offers
}

// Stream implements [model.Model].
func (c *chat) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	said, err := c.said(req)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	start := func(ctx context.Context, carry wire.Middleware) wire.Stream[sdk.ChatCompletionChunk] {
		opts := []option.RequestOption{option.WithMiddleware(carry)}
		if c.dialect.CacheKey == CacheKeyHeader && req.CacheKey != "" {
			opts = append(opts, option.WithHeader("X-Grok-Conv-Id", wire.CacheKey(req.CacheKey)))
		}
		return c.service.NewStreaming(ctx, c.params(req), opts...)
	}
	return wire.Complete(ctx, c.line, wire.Request{Said: said, Added: req.Headers, Output: req.MaxOutput}, start, c.newDecoder(req, emit))
}

// said encodes the conversation of a request, and its tools.
func (c *chat) said(req model.Request) (wire.Conversation, error) {
	system, err := c.system(req.System)
	if err != nil {
		return wire.Conversation{}, err
	}
	plain := c.split(req.Messages)
	messages, err := c.histories.Append(req.CacheKey, req.Messages[:plain])
	if err != nil {
		return wire.Conversation{}, err
	}
	last, err := c.histories.Rest(req.Messages, plain, c.encodeMarked)
	if err != nil {
		return wire.Conversation{}, err
	}
	tools, err := c.tools(req)
	return wire.Conversation{Name: "messages", Said: [][]byte{system, messages, last}, Tools: tools}, err
}

// params returns a request without its messages and tools.
func (c *chat) params(req model.Request) sdk.ChatCompletionNewParams {
	d := c.dialect
	p := sdk.ChatCompletionNewParams{Model: c.model}
	switch {
	case req.MaxOutput <= 0:
	case d.MaxTokens:
		p.MaxTokens = param.NewOpt(int64(req.MaxOutput))
	default:
		p.MaxCompletionTokens = param.NewOpt(int64(req.MaxOutput))
	}
	if req.Temperature != nil && d.Temperature {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if req.TopP != nil && d.Temperature {
		p.TopP = param.NewOpt(*req.TopP)
	}
	if req.CacheKey != "" && d.CacheKey == CacheKeyField {
		p.PromptCacheKey = param.NewOpt(wire.CacheKey(req.CacheKey))
	}
	if d.Usage == UsageByStreamOptions {
		p.StreamOptions = sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)}
	}
	if req.Output != nil && !c.outputByTool(req) {
		p.ResponseFormat = responseFormat(wire.OutputSchema(req.Output))
	}
	extra := map[string]any{}
	if req.Effort != "" {
		d.Effort.write(&p, req.Effort, extra)
	}
	p.SetExtraFields(extra)
	return p
}

// write adds an effort to a request in the form e.
func (e Effort) write(p *sdk.ChatCompletionNewParams, effort string, extra map[string]any) {
	value := e.Value(effort)
	if value == "" {
		return
	}
	switch {
	case e.Form == EffortNested:
		extra["reasoning"] = map[string]any{"effort": value}
	case e.Form == EffortThinking && value == "none":
		extra["thinking"] = map[string]any{"type": "disabled"}
	case e.Form == EffortThinking:
		extra["thinking"] = map[string]any{"type": "enabled"}
		fallthrough
	default:
		p.ReasoningEffort = shared.ReasoningEffort(value)
	}
}

func responseFormat(schema map[string]any) sdk.ChatCompletionNewParamsResponseFormatUnion {
	return sdk.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: wire.OutputTool, Schema: schema},
		},
	}
}

// outputByTool reports whether the response to req is the input of a tool.
func (c *chat) outputByTool(req model.Request) bool {
	if req.Output == nil {
		return false
	}
	return c.dialect.Output == OutputByTool || c.dialect.Output == OutputAlone && len(req.Tools) > 0
}

// tools returns the tools of a request.
func (c *chat) tools(req model.Request) ([]byte, error) {
	list, err := c.offers.Of(req.Tools)
	if err != nil || !c.outputByTool(req) {
		return list, err
	}
	last, err := c.encodeTools([]model.ToolSpec{wire.OutputSpec(req.Output)})
	if err != nil {
		return nil, err
	}
	return append(list[:len(list):len(list)], last...), nil
}

func (c *chat) encodeTools(specs []model.ToolSpec) ([]byte, error) {
	var list []byte
	for _, t := range specs {
		schema := t.Schema
		if c.dialect.Schema != nil {
			schema = c.dialect.Schema(schema)
		}
		f := sdk.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		var err error
		if list, err = wire.AppendElement(list, sdk.ChatCompletionFunctionTool(f)); err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
		}
	}
	return list, nil
}
