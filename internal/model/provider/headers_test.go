package provider

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/kinds"
)

// The card's SDKs send every request: each has the headers that only they set.
func TestTheSDKsSendEveryRequest(t *testing.T) {
	for _, kind := range kinds.Names() {
		for _, name := range []string{"gpt-4.1", "gpt-5-mini"} { // of different APIs for some kinds
			if kind == "bedrock" || kind == "vertex" {
				name = "anthropic.claude-sonnet-4-5"
			}
			got := capture(t, Config{Kind: kind, BaseURL: "http://model.test/v1", Model: name, Region: "global", Project: "project"}, model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}).Header
			for name, want := range map[string]string{"X-Stainless-Lang": "go", "X-Stainless-Package-Version": "", "X-Stainless-Runtime": "go", "X-Stainless-Retry-Count": "0"} {
				if value := got.Get(name); value == "" || want != "" && value != want {
					t.Errorf("%s: the header %s is %q", kind, name, value)
				}
			}
			if version := got.Get("Anthropic-Version"); (version != "") != (kind == "anthropic" || kind == "bedrock" || kind == "vertex") {
				t.Errorf("%s: the version of Anthropic's API is %q", kind, version)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	usual := map[string]string{"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "millhand"}
	bearer := map[string]string{"Authorization": "Bearer sk-1"}
	tests := []struct {
		name string
		kind string // "" is openai
		c    Config
		r    model.Request
		want map[string]string // in addition to the usual ones, which they replace
	}{
		{name: "a key", want: bearer},
		{name: "a user agent", c: Config{UserAgent: "millhand/1"}, want: map[string]string{"User-Agent": "millhand/1", "Authorization": "Bearer sk-1"}},
		{name: "a key in its header", kind: "azure", want: map[string]string{"Api-Key": "sk-1"}},
		{name: "a token", kind: "azure", c: Config{Bearer: true}, want: bearer},
		{name: "Anthropic's", kind: "anthropic", want: map[string]string{"X-Api-Key": "sk-1", "Anthropic-Version": "2023-06-01"}},
		{name: "Anthropic's with a token", kind: "anthropic", c: Config{Bearer: true}, want: map[string]string{"Authorization": "Bearer sk-1", "Anthropic-Version": "2023-06-01"}},
		{
			name: "the user's", c: Config{Header: map[string]string{"authorization": "Basic x", "accept": "*/*", "x-team": "shop"}},
			want: map[string]string{"Authorization": "Basic x", "Accept": "*/*", "X-Team": "shop"},
		},
		{
			name: "the user's for Anthropic", kind: "anthropic", c: Config{Header: map[string]string{"x-api-key": "other", "anthropic-version": "2"}},
			want: map[string]string{"X-Api-Key": "other", "Anthropic-Version": "2"},
		},
		{
			name: "added ones", r: model.Request{Headers: map[string]string{"authorization": "Bearer other", "x-team": "shop"}},
			want: map[string]string{"Authorization": "Bearer sk-1", "X-Team": "shop"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.c.Kind, test.c.Model, test.c.BaseURL = "openai", "gpt-4.1", "http://model.test/v1"
			if test.kind != "" {
				test.c.Kind = test.kind
			}
			test.r.Messages = []model.Message{{Role: model.User, Text: "hi"}}
			want := http.Header{}
			for _, all := range []map[string]string{usual, test.want} {
				for name, value := range all {
					want.Set(name, value)
				}
			}
			got := capture(t, test.c, test.r).Header
			for name := range got {
				if strings.HasPrefix(name, "X-Stainless-") || name == "Accept-Encoding" || name == "Content-Length" {
					got.Del(name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A kind without a wire would be called like most servers of Chat Completions, with its key in the usual header.
func TestEachKindHasAWire(t *testing.T) {
	for _, name := range kinds.Names() {
		if _, ok := wires[name]; !ok {
			t.Errorf("kind %s has no row in wires", name)
		}
	}
	if len(wires) != len(kinds.Names()) {
		t.Errorf("%d wires, %d kinds", len(wires), len(kinds.Names()))
	}
}
