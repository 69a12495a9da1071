package openai

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Chat returns a model of a Chat Completions server with dialect d.
func Chat(o Options, d Dialect) model.Model {
	c := &chat{line: newEndpoint(o, "chat/completions", d.KeyHeader), model: o.Model, dialect: d, state: "chat/" + o.Model}
	c.histories.Group, c.histories.Encode = c.group, c.encode
	c.offers.Encode = c.encodeTools
	return c
}

type chat struct {
	line      *wire.Endpoint
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
	body, err := c.body(req)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	r := wire.Request{Body: body, Added: req.Headers, Output: req.MaxOutput}
	if c.dialect.CacheKey == CacheKeyHeader && req.CacheKey != "" {
		r.Header = map[string]string{"X-Grok-Conv-Id": wire.CacheKey(req.CacheKey)}
	}
	return c.line.Complete(ctx, r, c.newDecoder(req, emit))
}

// body encodes a request. The messages come first, because they are the longest prefix
// that the next request shares.
func (c *chat) body(req model.Request) (wire.Body, error) {
	system, err := c.system(req.System)
	if err != nil {
		return nil, err
	}
	plain := c.split(req.Messages)
	messages, err := c.histories.Append(req.CacheKey, req.Messages[:plain])
	if err != nil {
		return nil, err
	}
	last, err := c.histories.Rest(req.Messages, plain, c.encodeMarked)
	if err != nil {
		return nil, err
	}
	tools, err := c.tools(req)
	if err != nil {
		return nil, err
	}
	return wire.Assemble("messages", [][]byte{system, messages, last}, c.params(req), tools)
}

// params returns a request without its messages and tools.
func (c *chat) params(req model.Request) chatParams {
	d := c.dialect
	p := chatParams{Model: c.model}
	switch {
	case req.MaxOutput <= 0:
	case d.MaxTokens:
		p.MaxTokens = req.MaxOutput
	default:
		p.MaxCompletionTokens = req.MaxOutput
	}
	if d.Temperature {
		p.Temperature, p.TopP = req.Temperature, req.TopP
	}
	if d.CacheKey == CacheKeyField {
		p.PromptCacheKey = wire.CacheKey(req.CacheKey)
	}
	if d.Usage == UsageByStreamOptions {
		p.StreamOptions.IncludeUsage = true
	}
	if req.Output != nil && !c.outputByTool(req) {
		p.ResponseFormat = &responseFormat{namedSchema{wire.OutputTool, wire.OutputSchema(req.Output)}, "json_schema"}
	}
	d.Effort.write(&p, req.Effort)
	return p
}

// write adds an effort to a request in the form e.
func (e Effort) write(p *chatParams, effort string) {
	value := e.Value(effort)
	if value == "" {
		return
	}
	switch {
	case e.Form == EffortNested:
		p.Reasoning.Effort = value
	case e.Form == EffortThinking && value == "none":
		p.Thinking.Type = "disabled"
	case e.Form == EffortThinking:
		p.Thinking.Type = "enabled"
		fallthrough
	default:
		p.ReasoningEffort = value
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
		var err error
		if list, err = wire.AppendElement(list, functionTool{function{t.Name, t.Description, schema}, "function"}); err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
		}
	}
	return list, nil
}
