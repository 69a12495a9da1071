// Package script is a model that plays written turns. A script has the messages of
// the model and nothing else: the tools, the permissions and the workspace are real,
// so that a run can be tried offline and repeated.
//
// A script is one YAML document:
//
//	version: 1
//	turns:
//	  - text: Let me look.              # text, calls, an error, or text and calls
//	    reasoning: The total is wrong.
//	    calls:
//	      - {tool: grep, args: {pattern: "func Total"}}
//	      - {tool: read, raw: '{"filePath": "ca'}   # the exact text of the arguments, here truncated
//	    usage: {input: 1200, output: 80, reasoning: 20, cache_read: 1000, cache_write: 0}
//	  - expect: ["cart\\.go:12", "FAIL"]
//	    delay: 200ms
//	    error: {status: 429, message: slow down, retry_after: 2s}
//	  - text: Done.
//	    finish: length
//	agents:
//	  explore: {turns: [{text: Nothing found.}]}
//
// The turns are played in order, one for each request. An unexpected request
// fails with [model.ClassScript], and so does one in which a regular expression
// under expect does not match what came since the last turn: the messages after
// the model's last, which are the first prompt or the results of its calls. An
// error turn fails its request as a provider would; the next request gets the
// next turn. The caller calls [Player.Finish] at the end, which reports unused
// turns.
//
// In an error, class is one of those of the model package, and status an HTTP
// status; one of them is enough, the other follows. Calls get the ids
// call_<turn>_<n>, counted from 1. A turn without calls finishes with stop, one
// with calls with tool_calls, unless finish is set. A turn without usage
// reports zeros.
//
// The package knows nothing of HTTP; wiretest serves the same scripts on a real
// wire.
package script
