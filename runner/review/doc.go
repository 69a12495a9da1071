// Package review has the texts of a review of changes: the prompt of the reviewer, which fences what others wrote, the schema of
// its verdict, and the prompt of the agent about objections. Only the final message of the reviewer has a verdict.
//
// It runs no session, and decides nothing about the job.
package review
