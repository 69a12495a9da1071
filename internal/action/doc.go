// Package action is what the GitHub action knows of GitHub: how inputs come in
// by the environment, which command line they come to, what of a report goes
// out as outputs, step summary and annotations, and how all of it is written so
// that no text of a model, a tool or a repository can pose as a word of
// millhand's to the runner.
//
// The forms are those of the runner (github.com/actions/runner: ActionCommand.cs
// for the log, FileCommandManager.cs for the files).
//
// The package runs nothing, knows no environment and no clock, and holds no key.
package action
