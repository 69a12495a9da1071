// Package history is what earlier processes did of a run, and what this one does with it.
//
// [Past] and [Facts] are a fold of events, and nothing else. [Decide] combines them with the order
// of a command, once: the [Intent] of a job is one of the verbs that continue a run, and [Job]
// answers the question that each phase has. [Publishable] is another fold, of what can be published
// later. Resuming a job that was killed in a follow-up prompt
// or a rebase is that prompt or rebase again.
//
// It reads no files and knows neither repositories nor the phases of a job: it returns values. The use
// cases that continue runs (packages runs, worker and pass) and package savedsession call [Decide]; packages
// runner, preflight, site, agent, changes, denials and trials read the results. Packages savedjob and pulls
// read [Publishable], and other use cases the [Past] of a saved run, of which replay reads the facts of each job.
package history
