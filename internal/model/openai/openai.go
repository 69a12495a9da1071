package openai

import (
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say where a model is and how long to wait for it.
type Options = wire.Options

// New returns the model behind Chat Completions in OpenAI's own dialect.
func New(o Options) model.Model { return Chat(o, OpenAI()) }

// newEndpoint returns the endpoint for requests to path, whose key is a bearer token, or in
// the header keyed if that has a name.
func newEndpoint(o Options, path, keyed string) *wire.Endpoint {
	return wire.NewEndpoint(o, wire.API{BaseURL: DefaultBaseURL, Path: path, KeyHeader: keyed})
}
