// Package hook runs the hooks of manifests: commands around runs, jobs, tool calls and commits. It makes their
// input, decides what their exit codes mean, and reports them. It starts no process itself: its user does, in a
// sandbox ([Config]).
package hook
