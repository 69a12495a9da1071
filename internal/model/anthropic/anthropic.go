package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// version is the version of the API.
const version = "2023-06-01"

// Dialect is how models of Anthropic differ. The zero value is a model of the
// first generations.
type Dialect struct {
	MaxOutput   int      // tokens, asked for where a request sets no limit: the API wants one; 0 is 4096
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
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	line := wire.NewEndpoint(o, wire.API{
		BaseURL: DefaultBaseURL, Path: "v1/messages", KeyHeader: "X-Api-Key",
		Header: map[string]string{"Anthropic-Version": version},
	})
	if d.MaxOutput == 0 {
		d.MaxOutput = defaultMaxOutput
	}
	c := &client{line: line, model: o.Model, dialect: d, state: "messages/" + o.Model}
	c.histories.Group, c.histories.Encode = group, c.encode
	c.offers.Encode = encodeTools
	return c
}

type client struct {
	line      *wire.Endpoint
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
	body, err := c.body(req)
	if err != nil {
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %w", err))
	}
	r := wire.Request{Body: body, Added: req.Headers, Output: cmp.Or(req.MaxOutput, c.dialect.MaxOutput)}
	return c.line.Complete(ctx, r, c.newDecoder(req, emit))
}
