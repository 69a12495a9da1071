// Package script is a model that plays predefined turns. A script contains only the
// model's messages: the tools, the permissions and the workspace are real,
// so that a run can be tested offline and repeated.
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
// The turns are played in order, one per request. An unexpected request
// fails with [model.ClassScript], and so does one that does not match a regular
// expression in expect, which is applied to the messages after
// the model's last one: the first prompt or the results of its calls. An
// error turn fails its request like a provider; the next request gets the
// next turn. The caller calls [Player.Finish] at the end, which reports unused
// turns.
//
// In an error, class is one of the classes of package model, and status an HTTP
// status; if only one is set, it determines the other. Calls get the ids
// call_<turn>_<n>, counted from 1. A turn without calls finishes with stop, one
// with calls with tool_calls, unless finish is set. A turn without usage
// reports zeros.
//
// The package does not use HTTP; package wiretest serves the same scripts over
// HTTP.
package script
