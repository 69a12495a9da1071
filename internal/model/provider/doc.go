// Package provider opens models: it knows which wire a kind of provider speaks, and how its requests
// differ; the wires below know forms, not names. Everything else about a provider is its row in package kinds.
//
// A row has a refinement for models of certain names. Each has a test that compares a captured request with
// the shape that the provider documents (testdata).
package provider
