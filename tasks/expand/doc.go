// Package expand makes a [tasks.Plan] of manifests and the command line: it expands tasks,
// repositories and matrices to jobs, resolves names, fills in texts, selects and checks. Two
// manifests that define one name differently are a problem. It reads files and runs nothing.
package expand
