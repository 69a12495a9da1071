// Package delivery saves what a job has left in its site: it finds the changes, looks for secrets, applies the rules of
// package landing, saves a patch, commits exactly the changes, and publishes them with package publish: push, pull
// request, comment and the requests of the agent. For a broken rule it saves the patch and returns the reason (an
// [ending.Stop]). After a commit it runs the after_commit hooks of the site.
//
// It runs no verify commands, decides neither when a phase runs nor how a job ends (package runner does), and knows no
// other job.
package delivery
