// Package manifest reads YAML manifests, policies and profiles: a value for each key, or a problem
// with its file, line and column. Its tables of keys are also the schema and the explanations.
// What several files and the command line make together is left to package expand.
package manifest
