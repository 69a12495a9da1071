// Package provider is the table of providers: where each is, which wire it
// speaks, the variables that its users set, and how its requests differ. Nothing
// of this is known anywhere else; the wires below know forms, not names.
//
// A row is a [Kind], and a refinement of one for models of certain names. Each
// has a test that compares a captured request with the shape that the provider
// documents (testdata).
//
// It reads no environment: [Kind] names the variables, and the wiring reads
// them.
package provider
