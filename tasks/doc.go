// Package tasks has the [Plan]: the list of jobs to run, with every default applied and every
// name resolved, and what its readers ask of it. It does not read manifests (package manifest)
// and does not make plans (package expand). Nobody edits a plan: a run, a rollout or a resume that
// needs something else makes another plan of it, by a method of this package. It reads and writes files only for the inputs of a queued plan ([Plan.ReadInputs], [Materialize]).
//
// What a manifest defines for all jobs (agents, providers, the search,
// custom tools, directories of skills) holds for the jobs of all manifests that are
// loaded together. Which keys and addresses the environment gives a provider, and how the
// agents that are built in speak, is left to others.
package tasks
