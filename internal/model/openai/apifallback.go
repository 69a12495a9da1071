package openai

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"sync/atomic"

	"github.com/millhand/millhand/internal/model"
)

// Either returns a model of a server of which only the error of a first request reports
// whether it serves the model with Chat Completions or only with Responses. It uses Chat
// Completions until it is rejected for that reason, and then Responses: a gateway passes
// on the rejection of the provider behind it, whatever its deployments are called.
func Either(o Options, d Dialect) model.Model {
	return &either{chat: Chat(o, d), responses: Responses(o, d)}
}

type either struct {
	chat, responses model.Model
	switched, noted atomic.Bool
}

// Stream implements [model.Model].
func (e *either) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if !e.switched.Load() {
		resp, err := e.chat.Stream(ctx, req, emit)
		if !requiresResponses(err) {
			return resp, err
		}
		e.switched.Store(true)
	}
	resp, err := e.responses.Stream(ctx, req, emit)
	if err == nil && e.noted.CompareAndSwap(false, true) {
		resp.Note = "the server requires OpenAI's Responses API for this model, which is used from now on; kind: responses under providers: avoids the rejected request"
	}
	return resp, err
}

// onlyResponses matches the rejections of OpenAI ("Please use /v1/responses instead",
// "only supported in v1/responses") and of Azure.
var onlyResponses = regexp.MustCompile(`(?i)\bv1/responses\b|\bresponses api\b|chatcompletion operation does not work with the specified model`)

// requiresResponses reports whether a server rejected a request because it serves the model
// only with Responses.
func requiresResponses(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && (failed.Status == http.StatusBadRequest || failed.Status == http.StatusNotFound) &&
		onlyResponses.MatchString(failed.Err.Error())
}
