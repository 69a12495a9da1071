// Package replay plays back what model.Recording has written: a run's exchanges
// with its models, repeated without a provider, a key or a cost.
//
// A request gets the response that was recorded for the same request of the same job
// (see model.Canon for what counts as the same). Any other fails with the difference,
// and never calls a provider. There are no retries and no prices: a recorded response
// has its cost, and a recorded failure followed all retries.
package replay
