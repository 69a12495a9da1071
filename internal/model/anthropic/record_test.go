package anthropic_test

import (
	"flag"
	"net/http"
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

var update = flag.Bool("update", false, "write what recordings come to")

func TestRecordingsResultInTheirGoldenResponses(t *testing.T) {
	wiretest.Recordings(t, "testdata/*.sse", "messages", *update, func(c *http.Client) model.Model {
		return anthropic.New(wire.Options{BaseURL: "http://model.test", Model: "claude", HTTPClient: c}, anthropic.Dialect{})
	})
}
