package openai

import (
	"cmp"

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

// connect returns the endpoint of an API, and the options of the SDK for it. Its services, unlike
// its client, read no environment variables.
func connect(o Options, api wire.API) (*wire.Endpoint, []option.RequestOption) {
	api.BaseURL = DefaultBaseURL
	line := wire.NewEndpoint(o, api)
	opts := []option.RequestOption{
		option.WithBaseURL(line.Base),
		option.WithHTTPClient(line.Client),
		option.WithMaxRetries(0), // that is model.Retrying
		option.WithHeader("User-Agent", cmp.Or(o.UserAgent, "millhand")),
	}
	switch {
	case o.APIKey == "":
	case o.Bearer || api.KeyHeader == "":
		opts = append(opts, option.WithAPIKey(o.APIKey))
	default:
		opts = append(opts, option.WithHeader(api.KeyHeader, o.APIKey))
	}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, value := range o.Query {
		opts = append(opts, option.WithQuery(name, value))
	}
	return line, opts
}
