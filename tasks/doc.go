// Package tasks turns YAML manifests into a [Plan]: the list of jobs to run,
// with every default applied, every name resolved and every mistake reported
// with its file, line and column. It reads files and runs
// nothing.
//
// What a manifest defines for all jobs (agents, providers, the search,
// custom tools, directories of skills) holds for the jobs of all manifests that are
// loaded together; two that define one name differently are a problem. Which
// keys and addresses the environment gives a provider, and how the agents that
// are built in speak, is left to others.
package tasks
