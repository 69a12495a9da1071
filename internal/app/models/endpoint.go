package models

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// checkEndpoint checks an address of a provider from the environment.
func checkEndpoint(set policy.Set, variable, address string) error {
	if address == "" {
		return nil
	}
	host := EndpointHost(address)
	if by, refused := set.Own().Refuses(policy.Hosts, host); refused {
		return fmt.Errorf("%s: host %q not allowed by %s", variable, host, by.By())
	}
	return nil
}

// EndpointHost returns the host of an address, with its port if present; "" if the
// address is invalid.
func EndpointHost(address string) string {
	if !strings.Contains(address, "://") { // as OLLAMA_HOST may be
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// endpoint returns how a plan calls the model with an id, without its key and what the
// environment defines.
func endpoint(plan *tasks.Plan, id string) (provider.Config, provider.Kind, error) {
	prefix, bare, _ := strings.Cut(id, "/")
	own := plan.Providers[prefix]
	kindName := prefix
	if own.Kind != "" {
		kindName = kinds.OfEndpoint(own.Kind)
	}
	var api provider.API
	if k, _ := kinds.Lookup(prefix); k.Deployed && (own.Kind == string(provider.ChatAPI) || own.Kind == string(provider.ResponsesAPI)) {
		kindName, api = prefix, provider.API(own.Kind)
	}
	kind, ok := provider.Lookup(kindName)
	if !ok {
		return provider.Config{}, kind, fmt.Errorf("the provider %s is not supported yet", prefix)
	}
	return provider.Config{
		Kind: kindName, API: api, BaseURL: own.BaseURL, Model: bare, Like: own.Models[bare].Like, Header: own.Headers, Query: own.Query,
		HeaderTimeout: own.Timeouts.Header, IdleTimeout: own.Timeouts.Idle, TotalTimeout: own.Timeouts.Total,
	}, kind, nil
}

// inTable returns the name under which the price table has a model: a provider of the
// manifest serves the models of its kind.
func inTable(plan *tasks.Plan, id string) string {
	prefix, bare, _ := strings.Cut(id, "/")
	kind := cmp.Or(plan.Providers[prefix].Kind, prefix)
	if kind == "responses" {
		kind = "openai"
	}
	return kind + "/" + bare
}

// declared returns the facts that the manifest states for a model of one of its
// providers.
func declared(plan *tasks.Plan, id string) (tasks.ModelFacts, bool) {
	prefix, bare, _ := strings.Cut(id, "/")
	facts, ok := plan.Providers[prefix].Models[bare]
	return facts, ok
}
