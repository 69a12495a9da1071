// Package manifest reads YAML manifests, policies and profiles: a value for each key, or a problem with its file,
// line and column; most values are types of package tasks. Its tables of keys are also the schema and the explanations. It combines of several files what
// they define once for all jobs ([Gather]); it makes no jobs: package expand does.
package manifest
