// Package tasks turns YAML manifests into a [Plan]: the list of jobs to run,
// with every default applied, every name resolved and every mistake reported
// at once, each with its file, line and column. It reads files and runs
// nothing.
package tasks
