// Package shell reads a bash command line without running it and says what it
// would do, as far as that can be known: which commands it can run, which
// files it names in a way that reads or writes them, and what stays unknown
// until it runs. Permission decisions are made from the answer, by others.
//
// The analysis errs on one side. A command that might run is reported, also
// when it stands in a branch, a function that is never called, a trap or the
// text given to another shell; a name that could mean two directories is
// reported for both; and whatever can't be followed (a command word from a
// variable, text evaluated at run time, an option that makes a program start
// another) is reported as unknown rather than left out. What is only data, the
// words of echo, a comment, a here-document for cat, is not reported.
//
// It is advice that gives clear denials, not a wall: a program does what it
// likes once it runs, an interpreter's script above all. The sandbox is the
// wall.
//
// The package touches no files, resolves no links, decides nothing and keeps
// no state. How programs read their command lines is data, the table programs.txt:
// to add a program, add a line.
package shell
