// Package hook runs the hooks of manifests: commands around runs, jobs, tool calls and
// commits. It makes their input, decides what their exit codes mean, and reports them. How
// their processes are confined is up to its user.
package hook
