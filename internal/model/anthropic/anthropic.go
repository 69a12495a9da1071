package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// Dialect is how models of Anthropic differ. The zero value is a model of the
// first generations.
type Dialect struct {
	MaxOutput   int      // tokens, asked for where a request sets no limit: the API requires one; 0 is 4096
	Thinking    Thinking // how thinking is turned on
	XHigh       bool     // the effort xhigh is accepted, with ThinkingAdaptive
	Temperature bool     // whether one may be set; the API version 2026-10-21 rejects it for all models
	Output      bool     // a response can be made to meet a schema without a tool
}

// Thinking is how the thinking budget is sent to a model.
type Thinking int

// The forms of thinking.
const (
	ThinkingNone     Thinking = iota // it can't
	ThinkingBudget                   // by a number of tokens
	ThinkingAdaptive                 // by a word, and the model decides
)

const defaultMaxOutput = 4096

// New returns the model behind Anthropic's Messages API. The base URL may end
// with /v1 or not.
func New(o wire.Options, d Dialect) model.Model {
	line, opts := connect(o, "X-Api-Key")
	return open(line, opts, o.Model, d)
}

// open returns the model of an endpoint. cloud are the options of the SDK for a cloud, which
// adapt what other middlewares have made of a request.
func open(line *wire.Endpoint, opts []option.RequestOption, name string, d Dialect, cloud ...option.RequestOption) model.Model {
	if d.MaxOutput == 0 {
		d.MaxOutput = defaultMaxOutput
	}
	c := &client{line: line, service: sdk.NewMessageService(opts...), cloud: cloud, model: name, dialect: d, state: "messages/" + name}
	c.histories.Group, c.histories.Encode = group, c.encode
	c.offers.Encode = encodeTools
	return c
}

// connect returns the endpoint of a model, and the options of the SDK for it. Its services,
// unlike its client, read no environment variables. Keys that are not tokens are sent in keyHeader;
// "" sends all as tokens.
func connect(o wire.Options, keyHeader string) (*wire.Endpoint, []option.RequestOption) {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	line := wire.NewEndpoint(o, wire.API{BaseURL: DefaultBaseURL, KeyHeader: keyHeader, Typed: true})
	opts := []option.RequestOption{
		option.WithBaseURL(line.Base),
		option.WithHTTPClient(line.Client),
		option.WithMaxRetries(0),      // that is model.Retrying
		option.WithoutOpenTelemetry(), // its spans could contain prompts, and variables configure them
		option.WithHeader("User-Agent", cmp.Or(o.UserAgent, "millhand")),
	}
	switch {
	case o.APIKey == "":
	case o.Bearer || keyHeader == "":
		opts = append(opts, option.WithAuthToken(o.APIKey))
	default:
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, value := range o.Query {
		opts = append(opts, option.WithQuery(name, value))
	}
	return line, opts
}

type client struct {
	line      *wire.Endpoint
	service   sdk.MessageService
	cloud     []option.RequestOption
	model     string
	dialect   Dialect
	state     string // the wire of states that are ours
	histories wire.Histories
	offers    wire.Offers
}

// Stream implements [model.Model].
func (c *client) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	said, err := c.said(req)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	start := func(ctx context.Context, carry wire.Middleware) wire.Stream[sdk.MessageStreamEventUnion] {
		return c.service.NewStreaming(ctx, c.params(req), append([]option.RequestOption{option.WithMiddleware(carry)}, c.cloud...)...)
	}
	r := wire.Request{Said: said, Added: req.Headers, Output: cmp.Or(req.MaxOutput, c.dialect.MaxOutput)}
	return wire.Complete(ctx, c.line, r, start, c.newDecoder(req, emit))
}
