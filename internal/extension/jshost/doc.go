// Package jshost runs OpenCode's tool files and plugins: it compiles them (home of esbuild), and serves
// them by one process of Node or Bun for each job.
//
// The process is started by the caller, in the job's sandbox. Its protocol has pipes of its own
// (descriptors 3 and 4), so that programs can write to standard output; a message is a line with a
// JSON object. Requests of millhand have an id, which their response repeats:
//
//	{"id": 1, "method": "load", "params": {...}}   {"id": 1, "result": {...}}
//	{"cancel": 1}                                  {"id": 1, "error": {"message": "..."}}
//
// The process sends requests, too, while it works on one of millhand's ("for" is its id):
//
//	{"ask": 7, "for": 1, "params": {...}}          {"response": 7, "error": {"message": "..."}}
//
// It is not JSON-RPC by package jsonrpc2, which makes Go values of each result before it returns its text:
// 1.1 GB for 32 MiB of empty objects that nobody waits for (TestLibraryDecodesResults of package lsp), and
// four times as long for a text of 1 MiB. With the library, conn.go has about as many lines.
//
// The package allows nothing: a tool's permission is checked before its call, and what a tool
// asks for is decided by the call's profile. What a profile allows, a [Plugin] may deny.
package jshost
