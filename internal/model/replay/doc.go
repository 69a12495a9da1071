// Package replay plays back what model.Recording has written: a run's exchanges
// with its models, asked and answered again without a provider, a key or a cost.
//
// A request is answered if the same one was recorded for the same job (see
// model.Canon for what counts as the same); any other is a failure that shows
// the difference, never a call to a provider. It does no retrying and no
// pricing: a recorded answer has its cost, and a recorded failure came after all
// retries.
package replay
