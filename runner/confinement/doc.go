// Package confinement confines the commands of a job, or of one call. [Env] is what they may use: directories, a
// profile and limits; [Open] makes the sandbox for it, with private directories, shares of the user's build
// caches, a proxy to the hosts of the profile, and a guard of git's own files where the sandbox can't make them
// read-only. Tools run commands in it by [Confinement.Commands]. It also starts the processes that serve a job
// (hooks, MCP servers, language servers, the host of tool files) in sandboxes of their own.
//
// It knows what a plan states of commands and processes (package tasks) and the profile (package permission), but neither
// running jobs nor sessions: who runs which command, when, and what its failure means, is decided by its callers. What setup
// commands may reach besides is a [Setup]. It decides nothing about calls; package permission does.
package confinement
