// Package agent runs the sessions of a job in its site: attempts with the verify commands after each, child sessions,
// the system prompt, mentions in the prompt, extensions, and what a process that continues a job restores of them.
// [Job.Work] is the session phase of a job, and returns its result. Package session runs each session, with the
// journal's writer. A script may be tried before them (package taskscript). What is wrong with the changes of an attempt
// (package inspection) goes back to its session; then another session may review them (package review), and another
// model may continue (escalation). Package trials finds changes that nothing needs, package denials remembers what was
// denied, and package requests decides about what the agent requests of a forge.
//
// It changes files of the site only by tools, by restoring an earlier state, and by merging the job's commits into a new
// base, and commits nothing. What the sessions of all jobs share is a [Run], and models come through its [Equipment].
package agent
