package openai

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/millhand/millhand/internal/lazyregexp"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Responses returns the model behind OpenAI's Responses API, for models that
// reason. Nothing is stored there: what the model thought comes back encrypted,
// and goes with the message's state into the next request. Of the dialect, only the
// header of the key and the effort are used.
func Responses(o Options, d Dialect) model.Model {
	r := &responder{line: newEndpoint(o, "responses", d.KeyHeader), model: o.Model, effort: d.Effort, state: "responses/" + o.Model}
	r.histories.Group = func([]model.Message) int { return 1 }
	r.histories.Encode = r.encode
	r.offers.Encode = encodeFunctions
	return r
}

type responder struct {
	line      *wire.Endpoint
	model     string
	effort    Effort
	state     string // the wire of states that are ours
	histories wire.Histories
	offers    wire.Offers
	silent    atomic.Bool // summaries of reasoning are not for us
}

// Stream implements [model.Model].
func (r *responder) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	silent := r.silent.Load()
	resp, err := r.once(ctx, req, emit, silent)
	if !silent && refusesSummary(err) {
		r.silent.Store(true)
		return r.once(ctx, req, emit, true)
	}
	return resp, err
}

func (r *responder) once(ctx context.Context, req model.Request, emit func(model.Delta), silent bool) (model.Response, error) {
	body, err := r.body(req, silent)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	return r.line.Complete(ctx, wire.Request{Body: body, Added: req.Headers, Output: req.MaxOutput}, r.newDecoder(req, emit))
}

var aboutSummaries = lazyregexp.New(`(?i)reasoning[._ ]summar`)

// refusesSummary reports whether err says that this account gets no summaries
// of reasoning, which OpenAI gives to verified organisations only.
func refusesSummary(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && failed.Status == 400 && aboutSummaries.MatchString(failed.Err.Error())
}

// body encodes a request.
func (r *responder) body(req model.Request, silent bool) (wire.Body, error) {
	input, err := r.histories.Append(req.CacheKey, req.Messages)
	if err != nil {
		return nil, err
	}
	tools, err := r.offers.Of(req.Tools)
	if err != nil {
		return nil, err
	}
	return wire.Assemble("input", [][]byte{input}, r.params(req, silent), tools)
}

// params returns a request without its messages and tools. Models that reason take
// no temperature.
func (r *responder) params(req model.Request, silent bool) responseParams {
	p := responseParams{
		Model:           r.model,
		Instructions:    req.System,
		MaxOutputTokens: max(req.MaxOutput, 0),
		PromptCacheKey:  wire.CacheKey(req.CacheKey),
		Include:         []string{"reasoning.encrypted_content"},
	}
	p.Reasoning.Effort = r.effort.Value(req.Effort)
	if !silent {
		p.Reasoning.Summary = "auto"
	}
	if req.Output != nil {
		p.Text.Format = &textFormat{wire.OutputTool, wire.OutputSchema(req.Output), "json_schema"}
	}
	return p
}

// encodeFunctions offers tools as they are: the strict mode, which the API has
// for its default, takes only some schemas.
func encodeFunctions(specs []model.ToolSpec) ([]byte, error) {
	var list []byte
	for _, t := range specs {
		var err error
		if list, err = wire.AppendElement(list, responseTool{Name: t.Name, Description: t.Description, Parameters: t.Schema, Type: "function"}); err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
		}
	}
	return list, nil
}
