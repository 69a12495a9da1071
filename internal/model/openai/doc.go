// Package openai is the wire to OpenAI's Chat Completions and to the many
// servers that speak the same protocol. It is the only importer of openai-go,
// which builds the requests, carries them, frames the event stream and decodes
// the chunks.
//
// What an answer means is decided here, because servers differ and a lenient
// reader loses data without a word: an answer is whole only when the provider
// said so (a finish reason or [DONE]), tool calls are put together by
// accumulate.go, an error inside a stream of status 200 is an error, and every
// wait has a deadline (watchdog.go). Failures come out as [model.Error] with a
// class (fault.go), so that nobody above parses strings.
//
// It does not try again (that is [model.Retrying]), does not price, reads no
// environment variables (but net/http's own proxy settings, if no HTTP client
// is given), and knows neither the Responses API nor images.
package openai
