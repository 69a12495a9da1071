package openai_test

import (
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func TestChatConforms(t *testing.T) {
	t.Parallel()
	wiretest.Conform(t, wiretest.Chat, func(base string, deadline time.Duration) model.Model {
		return openai.New(openai.Options{BaseURL: base, Model: "m", HeaderTimeout: deadline, IdleTimeout: deadline})
	})
}

func TestResponsesConform(t *testing.T) {
	t.Parallel()
	wiretest.Conform(t, wiretest.Responses, func(base string, deadline time.Duration) model.Model {
		return openai.Responses(openai.Options{BaseURL: base, Model: "m", HeaderTimeout: deadline, IdleTimeout: deadline}, openai.Dialect{Effort: openai.AnyEffort()})
	})
}
