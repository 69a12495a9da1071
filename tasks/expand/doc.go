// Package expand makes a [tasks.Plan] of manifests and the command line ([Load]), or of one prompt without a manifest
// ([LoadPrompt]): it expands tasks, repositories and matrices to jobs, resolves names, fills in texts, selects, hashes and
// checks. Two manifests that define one name differently are a problem. It reads files, but runs nothing; package
// manifest reads the keys, and package tasks has the plan.
package expand
