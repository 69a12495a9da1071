package openai

import (
	"context"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say where a model is and how long to wait for it.
type Options = wire.Options

// New returns the model behind Chat Completions in OpenAI's own dialect.
func New(o Options) model.Model { return Chat(o, OpenAI()) }

// client posts to one model by the SDK.
type client struct {
	line *wire.Endpoint
	sdk  sdk.Client
}

// newClient makes a client whose requests bear the key as a bearer token, or in
// the header keyed if that has a name.
func newClient(o Options, keyed string) client {
	line := wire.NewEndpoint(o, DefaultBaseURL)
	line.KeyHeader = keyed
	opts := []option.RequestOption{
		option.WithBaseURL(line.Base),
		option.WithHTTPClient(line.Client),
		option.WithMaxRetries(0),
		option.WithHeader("Content-Type", "application/json"),
	}
	if o.UserAgent != "" {
		opts = append(opts, option.WithHeader("User-Agent", o.UserAgent))
	}
	if keyed == "" || o.Bearer {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	} else if o.APIKey != "" {
		opts = append(opts, option.WithHeader(keyed, o.APIKey))
	}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, value := range o.Query {
		opts = append(opts, option.WithQuery(name, value))
	}
	// Not sdk.NewClient, which reads OPENAI_* variables.
	return client{line, sdk.Client{Options: opts}}
}

// post sends requests to path, with a header more if that has a name.
func (c client) post(path, header, value string) wire.Post {
	return func(ctx context.Context, carry wire.Carrier) (*http.Response, error) {
		var raw *http.Response
		opts := []option.RequestOption{option.WithMiddleware(carry)}
		if header != "" {
			opts = append(opts, option.WithHeader(header, value))
		}
		err := c.sdk.Post(ctx, path, nil, &raw, opts...)
		return raw, err
	}
}
