// Package shell reads a bash command line without running it and reports what
// it would do, as far as that can be known: which commands it can run, which
// files it names in a way that reads or writes them, and what stays unknown
// until it runs. Permission decisions are made from the report, by others.
//
// The analysis errs on one side. A command that might run is reported, also
// when it is in a branch, a function that is never called, a trap or the text
// of another shell's script; a name that could mean two directories is
// reported for both; and whatever can't be followed (a command word from a
// variable, text evaluated at run time, an option that makes a program start
// another) is reported as unknown rather than left out. Data is not reported:
// the arguments of echo, a comment, a here-document for cat.
//
// The analysis gives clear denials. It is not a security boundary: a program can
// do anything once it runs, an interpreter's script above all. The sandbox is the
// boundary.
//
// The package touches no files, resolves no symlinks, decides nothing and keeps
// no state.
//
// The walker follows the syntax tree (walk.go) as a shell would: simple commands
// (calls.go), functions (functions.go), expansions (quotes.go, expansions.go),
// assignments (assign.go), redirections (redirections.go) and builtins
// (builtins.go). What it finds goes to findings.go, names of files by way of
// access.go. What programs do with their arguments, package program knows; the
// walker applies the effects that it returns (apply.go). To add a program, add a
// line to its table.
package shell
