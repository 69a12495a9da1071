// Package tools is what a model can do, and the one gate in front of it.
//
// # The life of a call
//
// [Registry.Dispatch] takes a call as the model wrote it and
//
//  1. looks the tool up, mending a name that is only written in another case;
//  2. decodes the arguments strictly, against the schema that the model was shown;
//  3. lets the tool prepare: read the arguments, resolve paths, analyse a
//     command line, and say what the call needs, changing nothing;
//  4. asks the session's profile for a decision on every need;
//  5. runs it under a deadline, if it was allowed, or answers from the cache
//     what can't have changed;
//  6. bounds what it answered, keeping the whole text in a file, and takes the
//     secrets out that it was told of.
//
// Only Dispatch calls [Pending].Do, so nothing happens without a decision. A
// failure of any of these steps is an answer to the model, with a status for
// the record; Dispatch itself never fails.
//
// # Adding a tool
//
//  1. Make NAME.go with a struct of its arguments, tagged for JSON.
//  2. Describe the tool to the model in NAME.md beside it.
//  3. Write a constructor that returns [Define] of the two.
//  4. In prepare, resolve every path with the workspace and name every need
//     ([needFile] does both for a file).
//  5. Return a [Pending] whose Do acts only beneath those paths.
//  6. Make errors say what to do next; the reader is a model.
//  7. Add it to [For] in registry.go, with what a session must have for it.
//  8. Test it through Dispatch, denied calls included: they must change nothing.
//
// The package knows nothing of models, sessions, runs or reports.
package tools
