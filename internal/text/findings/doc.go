// Package findings defines the built-in output schema "findings": the result of a review as a list of problems
// with their locations. What a model writes there is untrusted: locations outside of the repository are not
// locations. The package reads no files of the repository, and does not check whether a finding is right.
package findings
