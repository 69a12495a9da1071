// Package expr parses and evaluates the expressions of if: comparisons of variables, functions of
// texts, and repo.has, which asks for a file of a repository. What can be decided without the
// repository is decided when the plan is made; package tasks evaluates the rest later. The package knows neither manifests nor jobs: it is
// given the values of variables by name, and asks its caller for files.
package expr
