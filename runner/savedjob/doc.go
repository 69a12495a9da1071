// Package savedjob publishes and reverts jobs of a run that has ended, from its events ([Job]), its patches and the
// commits in its repositories, with what their agents have requested of the forge (package requests). Changes are checked again before they are pushed, because policies and secrets can be
// others now.
//
// It runs no sessions and no commands of manifests, and knows no running job: package runner does not import it.
package savedjob
