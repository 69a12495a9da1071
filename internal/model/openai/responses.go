package openai

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Responses returns the model behind OpenAI's Responses API, for models that
// reason. Nothing is stored there: what the model thought comes back encrypted,
// and goes with the message's state into the next request. Of the dialect, only the
// header of the key and the effort are used.
func Responses(o Options, d Dialect) model.Model {
	line, opts := connect(o, wire.API{KeyHeader: d.KeyHeader, Typed: true})
	r := &responder{line: line, service: responses.NewResponseService(opts...), model: o.Model, effort: d.Effort, state: "responses/" + o.Model}
	r.histories.Group = func([]model.Message) int { return 1 }
	r.histories.Encode = r.encode
	r.offers.Encode = encodeFunctions
	return r
}

type responder struct {
	line      *wire.Endpoint
	service   responses.ResponseService
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
	said, err := r.said(req)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	start := func(ctx context.Context, carry wire.Middleware) wire.Stream[responses.ResponseStreamEventUnion] {
		return r.service.NewStreaming(ctx, r.params(req, silent), option.WithMiddleware(carry))
	}
	return wire.Complete(ctx, r.line, wire.Request{Said: said, Added: req.Headers, Output: req.MaxOutput}, start, r.newDecoder(req, emit))
}

var aboutSummaries = regexp.MustCompile(`(?i)reasoning[._ ]summar`)

// refusesSummary reports whether err means that this account gets no summaries
// of reasoning, which OpenAI gives to verified organisations only.
func refusesSummary(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && failed.Status == 400 && aboutSummaries.MatchString(failed.Err.Error())
}

// said encodes the conversation of a request, and its tools.
func (r *responder) said(req model.Request) (wire.Conversation, error) {
	input, err := r.histories.Append(req.CacheKey, req.Messages)
	if err != nil {
		return wire.Conversation{}, err
	}
	tools, err := r.offers.Of(req.Tools)
	return wire.Conversation{Name: "input", Said: [][]byte{input}, Tools: tools}, err
}

// params returns a request without its messages and tools. Models that reason take
// no temperature.
func (r *responder) params(req model.Request, silent bool) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model:   r.model,
		Store:   param.NewOpt(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if req.MaxOutput > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(req.MaxOutput))
	}
	if req.CacheKey != "" {
		p.PromptCacheKey = param.NewOpt(wire.CacheKey(req.CacheKey))
	}
	if !silent {
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	p.Reasoning.Effort = shared.ReasoningEffort(r.effort.Value(req.Effort))
	if req.Output != nil {
		p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: wire.OutputTool, Schema: wire.OutputSchema(req.Output)}
	}
	return p
}

// encodeFunctions offers tools as they are: the strict mode, which the API has
// for its default, accepts only some schemas.
func encodeFunctions(specs []model.ToolSpec) ([]byte, error) {
	var list []byte
	for _, t := range specs {
		f := responses.FunctionToolParam{Name: t.Name, Parameters: t.Schema, Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		var err error
		if list, err = wire.AppendElement(list, f); err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
		}
	}
	return list, nil
}
