// Package taskscript runs the script of a task before its first session, in the job's site and a sandbox without network:
// changes that pass an inspection (package inspection) are those of the job, without a model. A script that fails is undone,
// and its result and diff are in the first prompt of the session, redacted and as a block that no text in it can close.
//
// It calls no model, and neither commits nor saves anything. Whether a script is due is for its caller to decide.
package taskscript
