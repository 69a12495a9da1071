package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestRefusalIsNotAResponse takes what a model says when it will not for that, in
// every form.
func TestRefusalIsNotAResponse(t *testing.T) {
	for _, c := range wiretest.Refusals() {
		t.Run(c.Name, func(t *testing.T) {
			server := wiretest.New(nil)
			server.Fault = func(int) wiretest.Fault { return c.Fault }
			m, err := provider.Open(provider.Config{Kind: wires()[string(c.Wire)].kind, BaseURL: wiretest.Serve(t, server), Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := m.Stream(t.Context(), model.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := model.Response{Text: "I will not.", Finish: model.FinishFilter, Usage: &money.Usage{Input: 10, Output: 4}}
			if diff := cmp.Diff(want, resp); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
