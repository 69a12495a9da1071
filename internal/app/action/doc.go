// Package action implements the GitHub action's interface to GitHub: inputs from the environment, the manifests and the
// command line that they result in, and outputs, step summary and annotations of a report. It escapes all of them, so
// that text of a model, a tool or a repository can't issue workflow commands. It decides whether the event of a workflow
// is trusted ([TrustOf]), and whether its actor may start a run ([Actors.Admits]).
//
// The forms are those of the runner (github.com/actions/runner: ActionCommand.cs for the log, FileCommandManager.cs for
// the files).
//
// Package step uses it for one step of a workflow. It runs nothing, and does not read the environment, the clock or
// keys. The only file that it writes is the manifest of an input prompt ([Inputs.Manifests]). Runs outside of the action
// have the same annotations (package result).
package action
