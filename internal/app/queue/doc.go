// Package queue distributes the jobs of runs over machines, with NATS JetStream. It knows
// jobs, their input files, logs, results, budgets and leases, the workers, and how long a provider is left alone, but not
// how a job is run.
//
// The engine delivers a job at least once. Three things make its effects happen once:
//
//   - Each job has a log, a subject to which only the worker with the last claim can append:
//     every message names the sequence number of the one before. A worker that lost its lease
//     is refused there, before it pushes anything.
//   - Each job has one result: the first one, because its subject holds one message.
//   - The budget of a run is one entry that is changed by compare-and-set. Each delivery of a
//     job holds what it reserved under its own name, and the next delivery charges what was
//     left of it.
package queue
