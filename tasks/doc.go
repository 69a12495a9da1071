// Package tasks has the [Plan]: the list of jobs to run, with every default applied and every
// name resolved, and what its readers ask of it. It does not read manifests (package manifest)
// and does not make plans (package expand). Nobody edits a plan: a run, a rollout or a resume that
// needs something else makes another plan of it, by a method of this package. It writes files only for the inputs of a queued
// plan ([Materialize]); it reads them for these ([Plan.ReadInputs]), and looks at files that a plan names: programs and what is next to them
// ([Beside]), tool files, repositories, and the path of an output.
//
// What a manifest defines for all jobs (agents, providers, the search,
// custom tools, directories of skills) holds for the jobs of all manifests that are
// loaded together. A plan also has the policies that it was checked against, and the prices of models. Which keys and addresses the environment gives a provider, and how the
// agents that are built in speak, is left to others.
package tasks
