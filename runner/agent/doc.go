// Package agent runs the sessions of a job in its site: attempts with the verify commands after each, child sessions,
// the system prompt, mentions in the prompt, extensions, a script that is tried first, and what a process that continues
// a job restores of them. [Job.Work] is the session phase of a job, and returns its result. Package session runs each
// session, with the journal's writer. After the verify commands, another session may review the changes (package
// review), trials account for hunks that nothing needs (package trials), and another model may continue (escalation).
//
// It changes files of the site only by tools and scripts, by restoring an earlier state, and by merging the job's
// commits into a new base, and commits nothing: it examines the changes after an attempt, to return what is wrong with
// them to the model. What the sessions of all jobs share is a [Run], and models come through
// its [Equipment].
package agent
