// Package agent runs the sessions of a job in its site: attempts with the verify commands after each, child sessions, the
// system prompt, mentions in the prompt, extensions, a script that is tried first, and what a process that continues a job restores of
// them. [Job.Work] is the session phase of a job, and returns its result.
//
// It changes files of the site only by tools and scripts, and commits nothing: it examines the changes after an attempt, to
// return what is wrong with them to the model. What the sessions of all jobs share is a [Run].
package agent
