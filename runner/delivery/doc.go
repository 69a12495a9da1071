// Package delivery saves what a job has left in its site: it finds the changes, looks for secrets, applies the rules of
// package landing, saves a patch, commits exactly the changes, and publishes them with package publish: push, pull
// request, comment and the requests of the agent. For a broken rule it saves the patch and returns the reason (an
// [ending.Stop]). After a commit it runs the after_commit hooks of the site. What a job that was interrupted has left is
// also committed, if the task asks for it; and saved output is removed if the disk has no room for the patch.
//
// It runs no verify commands, decides neither when a phase runs nor how a job ends (package runner does), and knows no
// other job.
package delivery
