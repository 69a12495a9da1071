package anthropic_test

import (
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

func TestMessagesConform(t *testing.T) {
	t.Parallel()
	wiretest.Conform(t, wiretest.Messages, func(base string, deadline time.Duration) model.Model {
		return anthropic.New(wire.Options{BaseURL: base, Model: "m", HeaderTimeout: deadline, IdleTimeout: deadline}, anthropic.Dialect{})
	})
}
