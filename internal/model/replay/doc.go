// Package replay replays a recording of model.Recording: a run's exchanges
// with its models, without a provider, a key or a cost.
//
// A request gets the response that was recorded for the same request of the same job
// (see model.Canon for the comparison). Any other request fails with the difference,
// and never calls a provider. There are no retries and no prices: a recorded response
// has its cost, and a recorded failure was the last of its retries.
package replay
