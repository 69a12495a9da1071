// Package jsprogram compiles the tool files and plugins of a manifest into a directory, as of the base commit where they are in
// the repository, launches their host in a sandbox, and has the settings that plugins see.
//
// It neither calls their tools nor knows sessions: package extension does, with the result of [Program.Config].
package jsprogram
