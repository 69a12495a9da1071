// Package tools implements the tools that a model can call, and the permission
// check in front of them.
//
// # The life of a call
//
// [Registry.Dispatch] accepts a call as the model wrote it and
//
//  1. looks up the tool; the case of the name does not matter;
//  2. lets hooks replace the arguments or deny the call ([tool.Hook]);
//  3. decodes the arguments strictly, against the schema that the model was shown;
//  4. lets the tool prepare: read the arguments, resolve paths, analyze a
//     command line, and list the permissions needed, without side effects;
//  5. asks the session's profile for a decision on every permission, and hooks whether they
//     deny what it allows. A call that reads untrusted content marks the job ([untrusted.Job.Before]), and is prepared
//     and decided again: the profile must allow it with the rights that the mark leaves;
//  6. if all are allowed, runs the call under a deadline, or returns the cached
//     result of an identical call if nothing changed since;
//  7. truncates the result, saves the full text to a file, redacts known secrets,
//     and lets hooks change it.
//
// Only Dispatch calls [tool.Pending].Do, so nothing runs without a decision. A
// failure of any step becomes an error result for the model, with a status for
// the report; Dispatch itself never fails.
//
// # Adding a tool
//
//  1. In the package of its family (command, file, find, language, skill, webfetch, websearch), create NAME.go with a struct of
//     its arguments, tagged for JSON.
//  2. Describe the tool to the model in NAME.md beside it.
//  3. Write a constructor that returns [tool.Define] of the two.
//  4. In prepare, resolve every path and list every permission needed ([access.Paths.Need] does both for a file).
//  5. Return a [tool.Pending] whose Do accesses only those paths.
//  6. Make errors say what to do next; the reader is a model.
//  7. Add it to [For] in registry.go, with the condition under which a session has it, to the names of package
//     permission, and to judge.go, if its subject is not a text of its own.
//  8. Test it through Dispatch, including denied calls: they must change nothing.
//
// Only tools that act on sessions or calls are in this package: task, todowrite, todoread, batch and those of extensions.
// The package does not know models, sessions, runs or reports.
package tools
